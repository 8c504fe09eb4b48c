import { describe, expect, it } from 'vitest';
import {
  compareStrings,
  concatStrings,
  decodeString,
  encodeString,
  sliceString,
  stringByteAt,
  stringLength,
} from './string.js';

describe('strings', () => {
  it('counts bytes of UTF-8', () => {
    expect(stringLength('abc')).toBe(3);
    expect(stringLength('é')).toBe(2);
    expect(stringLength('😀')).toBe(4);
  });

  it('loses nothing when a string is cut inside a character and joined again', () => {
    const text = 'a😀é\u{1f480}z';
    for (let cut = 0; cut <= stringLength(text); cut++) {
      const left = sliceString(text, 0, cut);
      const right = sliceString(text, cut, stringLength(text));
      expect(stringLength(left)).toBe(cut);
      expect(concatStrings(left, right)).toBe(text);
    }
    let joined = '';
    for (let i = 0; i < stringLength(text); i++) joined = concatStrings(joined, stringByteAt(text, i));
    expect(joined).toBe(text);
  });

  it('keeps all bytes, valid UTF-8 or not', () => {
    const bytes = Uint8Array.from([
      0xff, 0xc3, 0x41, 0xed, 0xa0, 0x80, 0xc3, 0xa9, 0xf0, 0x9f, 0xef, 0xbb, 0xbf,
    ]);
    expect([...encodeString(decodeString(bytes))]).toEqual([...bytes]);
  });

  it('orders by bytes', () => {
    expect(compareStrings('\ue000', '😀')).toBeLessThan(0);
    expect(compareStrings('a', 'b')).toBeLessThan(0);
    expect(compareStrings('ab', 'a')).toBeGreaterThan(0);
    expect(compareStrings('é', 'é')).toBe(0);
  });
});
