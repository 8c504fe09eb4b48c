import type { Event } from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { EventFollower } from './event-follower.js';

function log(newest: number) {
  let last = newest;
  return {
    append: (count: number) => {
      last += count;
    },
    cut: (to: number) => {
      last = to;
    },
    store: {
      lastEvent: async () => last,
      events: async (after: number, limit: number) =>
        Array.from(
          { length: Math.min(last - after, limit) },
          (_, at) => ({ sequence: after + at + 1 }) as Event,
        ),
    },
  };
}

it('applies each event once, in order, and again after a failure', async () => {
  const { store, append } = log(7);
  const applied: number[] = [];
  let fails = false;
  const follower = new EventFollower(
    {
      store,
      apply: async (events) => {
        if (fails) throw new Error('the server cannot be reached');
        applied.push(...events!.map(({ sequence }) => sequence));
      },
    },
    7,
  );
  await follower.follow();
  expect(applied).toEqual([]);
  append(1_200);
  await follower.follow();
  expect(applied).toEqual(Array.from({ length: 1_200 }, (_, at) => at + 8));
  fails = true;
  append(2);
  await expect(follower.follow()).rejects.toThrow('cannot be reached');
  fails = false;
  await follower.follow();
  expect(applied.slice(-3)).toEqual([1_207, 1_208, 1_209]);
});

it('reads few events with one statement', async () => {
  const { store, append } = log(0);
  const reads: number[][] = [];
  const applied: number[][] = [];
  const follower = new EventFollower(
    {
      store: {
        lastEvent: () => Promise.reject(new Error('not needed')),
        events: (after, limit) => {
          reads.push([after]);
          return store.events(after, limit);
        },
      },
      apply: async (events) => void applied.push(events!.map(({ sequence }) => sequence)),
    },
    0,
  );
  await follower.follow();
  append(2);
  await follower.follow();
  append(1);
  await follower.follow();
  expect(applied).toEqual([[1, 2], [3]]);
  expect(reads).toEqual([[0], [0], [1]]);
});

it('reads everything again after very many events, or a log that went back', async () => {
  const { store, append, cut } = log(10);
  const applied: (number | undefined)[] = [];
  const apply = async (events: readonly Event[] | undefined) => void applied.push(events?.length);
  const follower = new EventFollower({ store, apply }, 10);
  append(10_001);
  await follower.follow();
  cut(5);
  await follower.follow();
  append(1);
  await follower.follow();
  expect(applied).toEqual([undefined, undefined, 1]);
});
