import { expect, it } from 'vitest';
import { parseUrl } from './parse-url.js';

it('parses URLs with non-ASCII characters, also on repeated calls', () => {
  const wrong: number[] = [];
  for (let call = 0; call < 20_000; call++) {
    if (parseUrl('https://bücher.example/catalog.yaml')?.host !== 'xn--bcher-kva.example') wrong.push(call);
  }
  expect(wrong).toEqual([]);
});

it.each([
  ['relative.yaml', 'https://example.com/a/b', 'https://example.com/a/relative.yaml'],
  ['//other.example/x', 'https://example.com', 'https://other.example/x'],
  ['relative.yaml', undefined, undefined],
  ['https://', undefined, undefined],
  ['', undefined, undefined],
])('parses %j below %j', (text, base, expected) => {
  expect(parseUrl(text, base)?.href).toBe(expected);
});
