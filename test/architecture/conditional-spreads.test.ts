import { expect, it } from 'vitest';
import { conditionalSpreads } from './conditional-spreads.js';

it.each([
  'f({ b, ...(a === undefined ? {} : { a }) });',
  'f({ ...(a ? { a, b } : {}) });',
  'f({ ...(a ? b : undefined), c });',
  'f({ ...(a ? { a } : b ? { b } : {}) });',
  'f({ ...(a !== undefined && { a }) });',
  'const f = () => [{ x: { ...(a && { a: a as string }) } }];',
])('finds the conditional spread in %s', (text) => {
  expect(conditionalSpreads(text)).toHaveLength(1);
});

it.each([
  'f({ b, ...defined({ a }) });',
  'f({ ...(a ? { a } : { b }) });',
  'f({ ...(a ?? b) });',
  'f([...(a ? [] : [b])]);',
  "f('...(a ? {} : { a })');",
])('finds none in %s', (text) => {
  expect(conditionalSpreads(text)).toEqual([]);
});

it('says in which line a spread is', () => {
  const text = ['interface Of {', '  a?: string;', '}', 'f({', '  b,', '  ...(a ? { a } : {}),', '});'].join(
    '\n',
  );
  expect(conditionalSpreads(text)).toEqual([{ line: 6, spread: 'a ? { a } : {}' }]);
});
