import { setImmediate } from 'node:timers/promises';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { BuildLane, type WaitingBuild } from './build-lane.js';
import { Precedence } from './precedence.js';

const waiting = (name: string): WaitingBuild => ({
  name,
  through: 1,
  functions: 0,
  isUrgent: false,
  changed: 1,
});

it.each([1, 2, 3, 4, 5])('a lane builds each catalog, whatever else comes (seed %i)', async (seed) => {
  const random = new Random(seed);
  const added: string[] = [];
  const built: string[] = [];
  /** How many batches began while a catalog waited. */
  const batches = new Map<string, number>();
  let running = 0;
  const lane: BuildLane = new BuildLane(async (batch) => {
    running += 1;
    expect(running).toBe(1);
    // A batch may leave out all but the first.
    const left = batch.slice(1).filter(() => random.chance(0.5));
    for (const { name } of batch) batches.set(name, (batches.get(name) ?? 0) + 1);
    for (const one of batch) {
      await setImmediate();
      if (left.includes(one)) continue;
      lane.done(one.name);
      built.push(one.name);
    }
    running -= 1;
  });
  for (let at = 0; at < 200; at++) {
    lane.add(waiting(`catalog-${at}`));
    added.push(`catalog-${at}`);
    while (random.chance(0.4)) await setImmediate();
  }
  while ([...lane.names].length > 0) await setImmediate();
  expect(built.sort()).toEqual(added.sort());
  // Those that waited longest come first, so none waits for more batches than others came before it.
  for (const [name, count] of batches) expect(count).toBeLessThanOrEqual(added.indexOf(name) + 1);
});

it('first builds wait for the updates that run, not for later ones', async () => {
  const precedence = new Precedence();
  const ends: (() => void)[] = [];
  const update = () => precedence.update(() => new Promise<void>((resolve) => void ends.push(resolve)));
  const updates = [update()];
  let gone = false;
  const waits = precedence.giveWay(new AbortController().signal).then(() => {
    gone = true;
  });
  await setImmediate();
  updates.push(update());
  await setImmediate();
  expect(gone).toBe(false);
  ends[0]!();
  await waits;
  ends[1]!();
  await Promise.all(updates);
});

it('first builds do not wait during a pause', async () => {
  const precedence = new Precedence();
  let end: () => void = () => undefined;
  const running = precedence.update(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  const pausing = new AbortController();
  const waits = precedence.giveWay(pausing.signal);
  await setImmediate();
  pausing.abort();
  await waits;
  end();
  await running;
});
