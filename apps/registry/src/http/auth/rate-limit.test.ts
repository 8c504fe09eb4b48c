import { describe, expect, it } from 'vitest';
import { RateLimit, rateLimitFields } from './rate-limit.js';

const AT = 1_900_000_000_000;

function takeMany(limit: RateLimit, count: number, now = AT, key = 'a'): number {
  let allowed = 0;
  for (let index = 0; index < count; index++) if (limit.take(key, now).allowed) allowed++;
  return allowed;
}

describe('RateLimit', () => {
  it.each([1, 3, 7, 60, 999, 3_000, 1_000_000])('allows exactly %i at once', (perMinute) => {
    const limit = new RateLimit('x', perMinute, 10);
    expect(takeMany(limit, perMinute - 1)).toBe(perMinute - 1);
    expect(limit.take('a', AT)).toMatchObject({ allowed: true, remaining: 0, retryAfterSeconds: 0 });
    expect(limit.take('a', AT)).toMatchObject({ allowed: false, remaining: 0 });
    expect(limit.take('b', AT).allowed).toBe(true);
  });

  it('refills the quota evenly, completely within a minute', () => {
    const limit = new RateLimit('x', 6, 10);
    expect(takeMany(limit, 10)).toBe(6);
    expect(limit.take('a', AT)).toMatchObject({ retryAfterSeconds: 10, resetSeconds: 60 });
    expect(limit.take('a', AT + 9_999)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    expect(limit.take('a', AT + 10_000)).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 60 });
    expect(limit.peek('a', AT + 40_000)).toMatchObject({ allowed: true, remaining: 3 });
    expect(takeMany(limit, 10, AT + 70_000)).toBe(6);
  });

  it('allows as many as before after a request was given back, at any time', () => {
    const limit = new RateLimit('x', 6, 10);
    takeMany(limit, 6);
    limit.giveBack('a', AT);
    expect(takeMany(limit, 6)).toBe(1);
    limit.giveBack('a', AT + 30_000);
    expect(limit.peek('a', AT + 30_000)).toMatchObject({ remaining: 4 });
    limit.giveBack('a', AT + 59_000);
    expect(limit.keys).toBe(0);
    limit.giveBack('b', AT);
    expect(takeMany(limit, 10, AT + 60_000)).toBe(6);
  });

  it('allows a request after its Retry-After', () => {
    for (const perMinute of [1, 7, 59, 61, 3_000]) {
      const limit = new RateLimit('x', perMinute, 10);
      takeMany(limit, perMinute);
      const { retryAfterSeconds } = limit.take('a', AT);
      expect(limit.take('a', AT + retryAfterSeconds * 1_000).allowed).toBe(true);
    }
  });

  it('refuses nothing for longer than a minute when the clock is set back', () => {
    const limit = new RateLimit('x', 2, 10);
    takeMany(limit, 2);
    const yesterday = AT - 86_400_000;
    expect(limit.take('a', yesterday)).toMatchObject({ allowed: false, retryAfterSeconds: 30 });
    expect(limit.take('a', yesterday + 1).allowed).toBe(false);
  });

  it('remembers a bounded number of keys, and evicts the least recently used', () => {
    const limit = new RateLimit('x', 1, 3);
    for (const key of ['a', 'b', 'c', 'd']) limit.take(key, AT);
    expect(limit.keys).toBe(3);
    expect(limit.peek('a', AT).allowed).toBe(true);
    expect(limit.peek('b', AT).allowed).toBe(false);
    for (let index = 0; index < 10_000; index++) limit.take(`k${index}`, AT);
    expect(limit.keys).toBe(3);
  });

  it('writes structured fields', () => {
    const limit = new RateLimit('requests', 100, 10);
    expect(rateLimitFields(limit.take('a', AT))).toEqual({
      'RateLimit-Policy': '"requests";q=100;w=60',
      RateLimit: '"requests";r=99;t=1',
    });
  });
});
