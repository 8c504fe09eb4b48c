import { KrmhubError } from '@krmhub/schema';
import { expect, it } from 'vitest';
import type { Leader } from '../../workers/processes/leader.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';
import { builderMethods, sharedBuilder } from './shared-builder.js';

/** A builder that records its calls. */
function builder(status: BuilderStatus) {
  const calls: string[] = [];
  const led: CatalogBuilder = {
    wake: () => void calls.push('wake'),
    waitFor: async (event) => {
      calls.push(`waitFor ${event}`);
      return true;
    },
    buildNow: async (name) => void calls.push(`buildNow ${name}`),
    status: () => status,
    pause: async () => undefined,
    resume: () => undefined,
    stop: async () => undefined,
  };
  return { led, calls };
}

it('builds on the leader, and then knows of the snapshots', async () => {
  const there = builder({ caughtUp: true, failing: [] });
  const here = builder({ caughtUp: false, failing: [] });
  const methods: Record<string, (input: never) => Promise<unknown>> = builderMethods(there.led);
  let caughtUp = 0;
  const leader = {
    isHere: false,
    call: async (method: string, input: unknown) => methods[method]!(input as never),
    status: () => there.led.status(),
    catchUp: async () => {
      caughtUp += 1;
    },
  };
  const shared = sharedBuilder(here.led, leader);
  expect(await shared.waitFor(7, 1_000, ['default'])).toBe(true);
  await shared.buildNow('default');
  expect([there.calls, here.calls, caughtUp]).toEqual([['waitFor 7', 'buildNow default'], [], 2]);
  expect(shared.status()).toEqual({ caughtUp: true, failing: [] });
  // It leads now. It has served catalogs before, so it is ready while it begins.
  leader.isHere = true;
  expect(await shared.waitFor(8)).toBe(true);
  expect(here.calls).toEqual(['waitFor 8']);
  expect(shared.status()).toEqual({ caughtUp: true, failing: [] });
});

it('says that no process leads', async () => {
  const leader: Leader = {
    isHere: false,
    call: () => Promise.reject(new KrmhubError('unavailable', 'no process leads')),
    status: () => undefined,
    catchUp: async () => undefined,
  };
  const shared = sharedBuilder(builder({ caughtUp: true, failing: [] }).led, leader);
  expect(shared.status()).toEqual({
    caughtUp: false,
    failure: 'the registry has no leader, which builds catalogs',
    failing: [],
  });
  // What was published is stored, and is built later.
  expect(await shared.waitFor(7, 1_000)).toBe(false);
  await expect(shared.buildNow('default')).rejects.toMatchObject({ code: 'unavailable' });
});
