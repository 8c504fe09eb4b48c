import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { FunctionLocks } from '../function-locks.js';
import { takeDownRelease } from './take-down-release.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

it.each([false, true])(
  'several processes take the same release down at once (dry run: %s)',
  async (dryRun) => {
    const name = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
    // Each process has locks of its own.
    const takeDown = (by: string) =>
      takeDownRelease({ ...registry.parts, functionLocks: new FunctionLocks() }, name, {
        reason: 'bad',
        dryRun,
        by,
        origin: { credential: by },
        recheck: async () => undefined,
      });
    const results = await Promise.all(['a', 'b', 'c'].map(takeDown));
    const outcomes = results.map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(
      dryRun ? ['taken-down', 'taken-down', 'taken-down'] : ['taken-down', 'unchanged', 'unchanged'],
    );
    if (!dryRun) {
      const by = new Set(results.flatMap(({ takedowns }) => takedowns.map((one) => one.by)));
      expect(by.size).toBe(1);
    }
  },
);
