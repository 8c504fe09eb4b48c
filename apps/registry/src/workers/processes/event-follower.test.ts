import type { Event } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { EventFollower } from './event-follower.js';
import type { FollowedEvent } from './shared-database.js';

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

it('reads nothing while notices tell all events, except now and then', async () => {
  const { store, append } = log(7);
  let reads = 0;
  const applied: number[] = [];
  const follower = new EventFollower(
    {
      store: {
        ...store,
        events: (after, limit) => {
          reads += 1;
          return store.events(after, limit);
        },
      },
      apply: async (events) => void applied.push(...events!.map(({ sequence }) => sequence)),
    },
    7,
  );
  for (let sequence = 8; sequence < 108; sequence += 1) {
    append(1);
    follower.tell({ sequence, type: 'release.published' });
    await follower.follow();
  }
  expect(new Set(applied)).toEqual(new Set(Array.from({ length: 100 }, (_, at) => at + 8)));
  expect(reads).toBeLessThanOrEqual(3);
  follower.requireRead();
  await follower.follow();
  expect(reads).toBeLessThanOrEqual(4);
});

it.each([1, 2, 3, 4, 5])('applies all events of the log, whatever notices say (seed %i)', async (seed) => {
  const random = new Random(seed);
  const types = ['release.published', 'catalog.cut', 'access.applied', 'release.taken-down'] as const;
  const events: FollowedEvent[] = [];
  const append = () => {
    const event = { sequence: events.length + 1, type: random.pick(types) };
    events.push(event);
    return event;
  };
  let fails = false;
  const read = <Result>(result: Result) =>
    fails ? Promise.reject(new Error('the server cannot be reached')) : Promise.resolve(result);
  const applied = new Set<string>();
  const key = ({ sequence, type }: FollowedEvent) => `${sequence} ${type}`;
  const follower = new EventFollower(
    {
      store: {
        lastEvent: () => read(events.length),
        events: (after, limit) => read(events.slice(after, after + limit) as Event[]),
      },
      apply: (some) => read(some?.forEach((event) => void applied.add(key(event)))),
    },
    0,
  );
  for (let step = 0; step < 2_000; step += 1) {
    fails = random.chance(0.05);
    const event = random.chance(0.6) ? append() : undefined;
    // Some are lost, come twice, or are of somebody else.
    if (event !== undefined && random.chance(0.95)) follower.tell(event);
    if (random.chance(0.02))
      follower.tell(random.pick(events.length > 0 ? events : [{ sequence: 1, type: types[0] }]));
    if (random.chance(0.05))
      follower.tell({ sequence: events.length + random.below(3), type: random.pick(types) });
    if (random.chance(0.5)) await follower.follow().catch(() => undefined);
    // The notice of the next event, or a caller, has it read what a forged notice said.
    if (random.chance(0.01)) {
      fails = false;
      follower.requireRead();
      await follower.follow();
      expect(events.filter((one) => !applied.has(key(one)))).toEqual([]);
    }
  }
});
