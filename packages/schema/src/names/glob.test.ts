import { describe, expect, it } from 'vitest';
import { matchesGlob } from './glob.js';

describe('matchesGlob', () => {
  it.each([
    ['*', 'example.com', true],
    ['example.com', 'example.com', true],
    ['example.com', 'sub.example.com', false],
    ['*.example.com', 'sub.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'evilexample.com', false],
    ['example.*', 'example.com', true],
    ['a*b*c', 'a.b.c', true],
    ['a*b*c', 'a.c', false],
    ['ab*ba', 'aba', false],
    ['a*a*a', 'aa', false],
    ['**', 'x.y', true],
    ['', 'x.y', false],
    ['example.com', 'exampleXcom', false],
  ])('%j and %j: %s', (glob, group, matches) => {
    expect(matchesGlob(glob, group)).toBe(matches);
  });

  it('takes linear time', () => {
    const started = process.cpuUsage();
    expect(matchesGlob('*a'.repeat(20_000), `${'a'.repeat(19_999)}b`)).toBe(false);
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });
});
