import { KrmhubError } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { LEADER_HERE, type Leader } from '../../workers/processes/leader.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';
import { LedBuilder } from './led-builder.js';

/** A builder that records its calls. */
function recorded(status: BuilderStatus) {
  const calls: string[] = [];
  const builder: CatalogBuilder = {
    wake: () => void calls.push('wake'),
    waitFor: async ({ event }) => {
      calls.push(`waitFor ${event}`);
      return true;
    },
    buildNow: async ({ name }) => void calls.push(`buildNow ${name}`),
    status: () => status,
    pause: async () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    stop: async () => undefined,
  };
  return { builder, calls };
}

it('builds nothing, and says so, while another process leads', async () => {
  const here = recorded({ caughtUp: true, failing: [] });
  const builder = new LedBuilder(() => here.builder, LEADER_HERE);
  const rejected = async () => {
    expect(await builder.waitFor({ event: 1 })).toBe(false);
    await expect(builder.buildNow({ name: 'default' })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'another process builds the catalogs of this registry',
    });
    expect([builder.ownStatus().caughtUp, here.calls]).toEqual([false, []]);
  };
  await rejected();
  await builder.lead();
  await builder.buildNow({ name: 'default' });
  expect([await builder.waitFor({ event: 1 }), builder.ownStatus().caughtUp, here.calls.splice(0)]).toEqual([
    true,
    true,
    ['buildNow default', 'waitFor 1'],
  ]);
  await builder.follow();
  await rejected();
});

it('begins to build only after a pause', async () => {
  const here = recorded({ caughtUp: true, failing: [] });
  const builder = new LedBuilder(() => here.builder, LEADER_HERE);
  await builder.pause();
  const leading = builder.lead();
  builder.wake();
  expect(here.calls).toEqual([]);
  builder.resume();
  await leading;
  builder.wake();
  await builder.pause();
  builder.resume();
  expect(here.calls).toEqual(['wake', 'pause', 'resume']);
});

it('builds on the leader, and then knows of the snapshots', async () => {
  const there = recorded({ caughtUp: true, failing: [] });
  const here = recorded({ caughtUp: false, failing: [] });
  const onLeader = new LedBuilder(() => there.builder, LEADER_HERE);
  await onLeader.lead();
  const sent: unknown[] = [];
  let caughtUp = 0;
  const leader = {
    isHere: false,
    call: async (method: string, input: unknown) => {
      sent.push({ method, input });
      return onLeader.methods[method]!(input as never);
    },
    status: () => onLeader.ownStatus(),
    catchUp: async () => {
      caughtUp += 1;
    },
    isCurrent: () => true,
  };
  const builder = new LedBuilder(() => here.builder, leader);
  expect(await builder.waitFor({ event: 7, milliseconds: 1_000, catalogs: ['default'] })).toBe(true);
  await builder.buildNow({ name: 'default' });
  expect([there.calls, here.calls, caughtUp]).toEqual([['waitFor 7', 'buildNow default'], [], 2]);
  // Another version of the program may lead.
  expect(sent).toEqual([
    { method: 'builder.waitFor', input: { event: 7, milliseconds: 1_000, catalogs: ['default'] } },
    { method: 'builder.buildNow', input: { name: 'default' } },
  ]);
  expect(builder.status()).toEqual({ caughtUp: true, failing: [] });
  // It leads now. It has served catalogs before, so it is ready while it begins.
  leader.isHere = true;
  await builder.lead();
  expect(await builder.waitFor({ event: 8 })).toBe(true);
  expect([here.calls, caughtUp]).toEqual([['waitFor 8'], 2]);
  expect(builder.status()).toEqual({ caughtUp: true, failing: [] });
});

it('says that no process leads', async () => {
  const leader: Leader = {
    isHere: false,
    call: () => Promise.reject(new KrmhubError('unavailable', 'no process leads')),
    status: () => undefined,
    catchUp: async () => undefined,
    isCurrent: () => true,
  };
  const builder = new LedBuilder(() => recorded({ caughtUp: true, failing: [] }).builder, leader);
  expect(builder.status()).toEqual({
    caughtUp: false,
    failure: 'the registry has no leader to build catalogs',
    failing: [],
  });
  // What was published is stored, and is built later.
  expect(await builder.waitFor({ event: 7, milliseconds: 1_000 })).toBe(false);
  await expect(builder.buildNow({ name: 'default' })).rejects.toMatchObject({ code: 'unavailable' });
});
