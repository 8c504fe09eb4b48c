import { describe, expect, it } from 'vitest';
import { BytesCache } from '../bytes-cache.js';
import { hashSecret, isTokenSecret, newSecret } from './tokens.js';

describe('token secrets', () => {
  it('are distinguished from truncated, mistyped and other text', () => {
    const secret = newSecret();
    expect(secret).toMatch(/^krmhub_[a-f0-9]{72}$/);
    expect(isTokenSecret(secret)).toBe(true);
    expect(isTokenSecret(secret.slice(0, -1))).toBe(false);
    expect(isTokenSecret(`${secret}0`)).toBe(false);
    const position = 20;
    const other = secret[position] === 'a' ? 'b' : 'a';
    expect(isTokenSecret(secret.slice(0, position) + other + secret.slice(position + 1))).toBe(false);
    expect(isTokenSecret('')).toBe(false);
    expect(newSecret()).not.toBe(secret);
    expect(hashSecret(secret)).toMatch(/^[a-f0-9]{64}$/);
  });
});

describe('BytesCache', () => {
  it('retains the last used values, within its bytes', () => {
    const cache = new BytesCache(10);
    cache.set('a', new Uint8Array(4));
    cache.set('b', new Uint8Array(4));
    cache.get('a');
    cache.set('c', new Uint8Array(4));
    expect(cache.get('b')).toBeUndefined();
    expect(cache.get('a')).toBeDefined();
    expect(cache.get('c')).toBeDefined();
    cache.set('a', new Uint8Array(6));
    expect(cache.get('c')).toHaveLength(4);
    cache.set('large', new Uint8Array(11));
    expect(cache.get('large')).toBeUndefined();
    expect(cache.get('a')).toHaveLength(6);
  });
});
