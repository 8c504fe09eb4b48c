import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RunningTime } from './running-time.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('counts the time between pauses, and ends after the limit', () => {
  const onEnd = vi.fn();
  const time = new RunningTime(1_000, onEnd);
  vi.advanceTimersByTime(600);
  time.pause();
  vi.advanceTimersByTime(60_000);
  time.pause();
  time.resume();
  vi.advanceTimersByTime(399);
  expect(onEnd).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onEnd).toHaveBeenCalledOnce();
});

it('does not run again after its end', () => {
  const onEnd = vi.fn();
  const time = new RunningTime(1_000, onEnd);
  vi.advanceTimersByTime(250);
  expect(time.end()).toBe(250);
  time.resume();
  vi.advanceTimersByTime(60_000);
  expect(time.end()).toBe(250);
  expect(onEnd).not.toHaveBeenCalled();
});
