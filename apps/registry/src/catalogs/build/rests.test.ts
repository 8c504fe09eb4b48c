import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { Rests } from './rests.js';

let rests: Rests;
beforeEach(() => {
  vi.useFakeTimers();
  rests = new Rests();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Begins a build of many publishes, and its rest. */
function rest(busyMilliseconds: number): { isOver: () => boolean } {
  let over = false;
  rests.begin('pass');
  void rests.after('pass', busyMilliseconds, 100).then(() => {
    over = true;
  });
  return { isOver: () => over };
}

it('follow the time of the build, up to a limit', async () => {
  const { buildRestFactor, maxBuildRestMilliseconds } = SERVER_LIMITS;
  const short = rest(10);
  await vi.advanceTimersByTimeAsync(10 * buildRestFactor - 1);
  expect(short.isOver()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(short.isOver()).toBe(true);
  const long = rest(maxBuildRestMilliseconds * 10);
  await vi.advanceTimersByTimeAsync(maxBuildRestMilliseconds);
  expect(long.isOver()).toBe(true);
});

it('end when a caller waits for a snapshot, and do not begin while it waits', async () => {
  const ended = rest(1_000);
  rests.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended.isOver()).toBe(true);
  rests.begin('large');
  rests.end();
  await rests.after('large', 1_000, 100);
  expect(vi.getTimerCount()).toBe(0);
});

it('do not follow a build of few publishes', async () => {
  rests.begin('pass');
  await rests.after('pass', 1_000, 1);
  expect(vi.getTimerCount()).toBe(0);
});
