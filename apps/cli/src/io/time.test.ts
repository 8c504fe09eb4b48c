import { describe, expect, it } from 'vitest';
import { parseDays, relativeTime, timeLeft } from './time.js';

describe('relative time', () => {
  const now = new Date('2030-06-15T12:00:00Z');
  it.each([
    ['2030-06-15T11:59:58Z', 'now'],
    ['2030-06-15T11:59:30Z', '30s ago'],
    ['2030-06-15T11:01:00Z', '59m ago'],
    ['2030-06-15T09:00:00Z', '3h ago'],
    ['2030-06-01T12:00:00Z', '14d ago'],
    ['2030-06-16T12:00:00Z', 'in 1d'],
    ['2030-06-15T12:30:00Z', 'in 30m'],
    ['2029-06-14T12:00:00Z', '2029-06-14'],
    ['soon', 'soon'],
  ])('%s is %s', (time, text) => {
    expect(relativeTime(time, now)).toBe(text);
  });
});

describe('time left', () => {
  it.each([
    ['2030-07-15T12:00:00Z', 'within 30d'],
    ['2030-06-15T12:30:00Z', 'within 30m'],
    ['2032-06-15T12:00:00Z', 'before 2032-06-15'],
  ])('until %s is %s', (until, text) => {
    expect(timeLeft(until, new Date('2030-06-15T12:00:00Z'))).toBe(text);
  });
});

describe('durations in days', () => {
  it.each([
    ['90d', 90],
    ['90', 90],
    ['12w', 84],
    ['1y', 365],
    ['', undefined],
    ['-1d', undefined],
    ['1h', undefined],
    ['1e3', undefined],
    ['999999d', undefined],
  ])('%j is %s', (text, days) => {
    expect(parseDays(text)).toBe(days);
  });
});
