import { describe, expect, it } from 'vitest';
import { escapeControls, oneLine, pad, shorten, shortenStart, textWidth, wrap } from './text.js';

describe('foreign text', () => {
  const hostile = 'a\u001b[31mred\u001b]0;title\u0007\u009b2J\u202eevil\u200b\r\nb\tc\u{e0041}';

  it('contains no control or invisible characters', () => {
    for (const text of [escapeControls(hostile), oneLine(hostile)]) {
      expect(text).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e\u200b]|[\u{e0000}-\u{e007f}]/u);
    }
  });

  it('shows the escaped characters', () => {
    expect(escapeControls('a\u001b[0m\u007f\t\u202e')).toBe('a␛[0m␡␉�');
  });

  it('is a single line in a list', () => {
    expect(oneLine('  two\r\n\tlines\u001b[1m ')).toBe('two lines[1m');
  });
});

describe('width', () => {
  it.each([
    ['plain', 5],
    ['Größe', 5],
    ['e\u0301', 1],
    ['関数', 4],
    ['🚀', 2],
    ['a…', 2],
    ['', 0],
  ])('of %j is %d', (text, columns) => {
    expect(textWidth(text)).toBe(columns);
  });

  it('limits shortened text', () => {
    expect(shorten('SetNamespace', 12)).toBe('SetNamespace');
    expect(shorten('SetNamespace', 6)).toBe('SetNa…');
    expect(shorten('two words', 5)).toBe('two…');
    for (const columns of [2, 3, 4, 5])
      expect(textWidth(shorten('関数関数関数', columns))).toBeLessThanOrEqual(columns);
    expect(shortenStart('app/labels.yaml:12', 18)).toBe('app/labels.yaml:12');
    expect(shortenStart('app/labels.yaml:12', 10)).toBe('…s.yaml:12');
    for (let columns = 1; columns < 12; columns++)
      expect(textWidth(shortenStart('関数関数関数', columns))).toBeLessThanOrEqual(columns);
    expect(shortenStart('🚀🚀🚀', 4)).not.toMatch(/(?<![\ud800-\udbff])[\udc00-\udfff]/);
    expect(shorten('🚀🚀🚀', 4)).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
    expect(pad('関', 4)).toBe('関  ');
  });

  it('limits wrapped text', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('a verylongword b', 5)).toEqual(['a', 'verylongword', 'b']);
    expect(wrap('', 5)).toEqual(['']);
  });
});
