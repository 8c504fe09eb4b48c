import { expect, it } from 'vitest';
import type { CatalogBuilder } from './catalog-builder.js';
import { LedBuilder } from './led-builder.js';

it('builds nothing, and says so, while another process leads', async () => {
  const built: string[] = [];
  const here: CatalogBuilder = {
    wake: () => undefined,
    waitFor: async () => true,
    buildNow: async (name) => void built.push(name),
    status: () => ({ caughtUp: true, failing: [] }),
    pause: async () => undefined,
    resume: () => undefined,
    stop: async () => undefined,
  };
  const builder = new LedBuilder(() => here);
  const rejected = async () => {
    expect(await builder.waitFor(1)).toBe(false);
    await expect(builder.buildNow('default')).rejects.toMatchObject({
      code: 'unavailable',
      message: 'another process builds the catalogs of this registry',
    });
    expect([builder.status().caughtUp, built]).toEqual([false, []]);
  };
  await rejected();
  await builder.lead();
  await builder.buildNow('default');
  expect([await builder.waitFor(1), builder.status().caughtUp, built.splice(0)]).toEqual([
    true,
    true,
    ['default'],
  ]);
  await builder.follow();
  await rejected();
});
