import { expect, it } from 'vitest';
import { expectExchangesAsModel } from './exchange-property.js';

it.each([3, 4, 5])('gives a token exactly where a model says so, for what it says: seed %i', async (seed) => {
  const counts = await expectExchangesAsModel({ seed, steps: 150 });
  for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(2);
});
