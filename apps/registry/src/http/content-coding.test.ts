import { describe, expect, it } from 'vitest';
import { negotiateCoding } from './content-coding.js';
import { matchingTag } from './negotiated-document.js';

describe('negotiateCoding', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP;Q=0.8, br;q=0.5', 'gzip'],
    ['br;q=0, gzip;q=0', 'identity'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity', 'identity'],
    ['identity;q=1, gzip;q=0.5', 'identity'],
    ['gzip;q=0.001', 'gzip'],
    ['deflate', 'identity'],
    ['*;q=0', 'identity'],
    ['identity;q=0', 'identity'],
    ['identity;q=0, gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip;q=2', 'identity'],
    [';;;,,,q=1', 'identity'],
    [' br ; q = 0.9 , gzip ; q = 1.0 ', 'gzip'],
  ])('chooses for %j: %s', (header, coding) => {
    expect(negotiateCoding(header)).toBe(coding);
  });
});

describe('matchingTag', () => {
  const tags = ['"a-br"', '"a-gzip"', '"a"'];

  it('compares weakly, in lists, and accepts any tag of the same bytes', () => {
    expect(matchingTag(undefined, tags)).toBeUndefined();
    expect(matchingTag('"b", W/"a-gzip"', tags)).toBe('"a-gzip"');
    expect(matchingTag('"a"', tags)).toBe('"a"');
    expect(matchingTag(' * ', tags)).toBe('"a-br"');
    expect(matchingTag('"x,\\"a"', tags)).toBeUndefined();
    expect(matchingTag('a', tags)).toBeUndefined();
    expect(matchingTag('"b"', tags)).toBeUndefined();
  });
});
