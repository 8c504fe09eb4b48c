import { expect, it } from 'vitest';
import { type StatementCall, text } from '../sql/statement.js';
import { combinable } from './session.js';

const insert = text<never>('INSERT INTO file (bytes) VALUES (:bytes)');
const change = (bytes: unknown): StatementCall => ({ statement: insert, method: 'run', values: { bytes } });
const sizes = (calls: readonly StatementCall[]) => [...combinable(calls)].map(({ length }) => length);

it('combines changes by number and by size, and all in order', () => {
  expect(sizes([])).toEqual([]);
  expect(sizes(Array.from({ length: 130 }, (_, at) => change(at)))).toEqual([64, 64, 2]);
  const mebibyte = Buffer.alloc(1_048_576);
  expect(sizes(Array.from({ length: 9 }, () => change(mebibyte)))).toEqual([4, 4, 1]);
  const text = 'x'.repeat(3_000_000);
  expect(sizes([change('a'), change(text), change(text), change('b')])).toEqual([2, 2]);
  // One change is never split.
  const large = change(Buffer.alloc(9_000_000));
  expect(sizes([change('a'), large, large, change('b')])).toEqual([1, 1, 1, 1]);
  const mixed = [change('a'), large, change(mebibyte), change('b')];
  expect([...combinable(mixed)].flat()).toEqual(mixed);
});
