import type { Event } from '@krmhub/catalog';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Following } from './following.js';
import type { CallRows, SharedDatabase } from './shared-database.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Calls of nobody. */
const NO_CALLS = {
  open: async () => [],
  outcomes: async () => [],
  deleteOld: async () => undefined,
  putStatus: async () => undefined,
  status: async () => undefined,
} as unknown as CallRows;

it.each([
  ['notifications come, and the connection that hears them lies', true],
  ['no notification can come', false],
])('is current only while it reads the events of others: %s', async (_, isConnected) => {
  let isAway = false;
  let last = 0;
  const events = async (after: number): Promise<Event[]> => {
    if (isAway) throw new Error('the server cannot be reached');
    return Array.from({ length: last - after }, (_, at) => ({ sequence: after + at + 1 }) as Event);
  };
  const shared: SharedDatabase = {
    listen: () => ({ isConnected, close: async () => undefined }),
    calls: NO_CALLS,
    events: { events, lastEvent: async () => last },
  };
  const following = await Following.open({
    ...{ shared, leads: () => false, log: pino({ level: 'silent' }) },
    processes: { hasLeader: () => true },
  });
  const applied: number[] = [];
  following.start(async (some) => void applied.push(...(some ?? []).map(({ sequence }) => sequence)), {
    methods: {},
    status: () => ({}),
  });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(following.isCurrent()).toBe(true);
  // Nobody tells this process.
  last = 1;
  await vi.advanceTimersByTimeAsync(55_000);
  expect([applied, following.isCurrent()]).toEqual([[1], true]);
  isAway = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(following.isCurrent()).toBe(false);
  isAway = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(following.isCurrent()).toBe(true);
  await following.stop();
});
