import { expect, it } from 'vitest';
import { readChunkRange, readRange } from './range.js';

it.each<[string | undefined, number, ReturnType<typeof readRange>]>([
  ['bytes=500-1499', 2_048, { start: 500, end: 1_500 }],
  ['bytes=500-', 2_048, { start: 500, end: 2_048 }],
  ['bytes=-500', 2_048, { start: 1_548, end: 2_048 }],
  ['bytes=2000-5000', 2_048, { start: 2_000, end: 2_048 }],
  ['bytes=0-0', 2_048, { start: 0, end: 1 }],
  ['bytes=2047-', 2_048, { start: 2_047, end: 2_048 }],
  ['bytes=-5000', 2_048, { start: 0, end: 2_048 }],
  ['Bytes= 1-2 ', 2_048, { start: 1, end: 3 }],
  ['bytes=500-0', 2_048, 'unsatisfiable'],
  ['bytes=2048-', 2_048, 'unsatisfiable'],
  ['bytes=5000-10000', 2_048, 'unsatisfiable'],
  ['bytes=-0', 2_048, 'unsatisfiable'],
  ['bytes=0-', 0, 'unsatisfiable'],
  ['bytes=-5', 0, 'unsatisfiable'],
  [undefined, 2_048, undefined],
  ['', 2_048, undefined],
  ['bytes=', 2_048, undefined],
  ['bytes=-', 2_048, undefined],
  ['bytes=0-1,3-4', 2_048, undefined],
  ['items=0-1', 2_048, undefined],
  ['bytes=a-b', 2_048, undefined],
  ['bytes=1.5-2', 2_048, undefined],
  ['bytes=--1', 2_048, undefined],
  [`bytes=${'9'.repeat(16)}-`, 2_048, undefined],
])('the range %j of %d bytes is %j', (header, size, expected) => {
  expect(readRange(header, size)).toEqual(expected);
});

it.each<[string, ReturnType<typeof readChunkRange>]>([
  ['0-1023', { start: 0, end: 1_024 }],
  ['5-5', { start: 5, end: 6 }],
  [' 0-1 ', { start: 0, end: 2 }],
  ['bytes 0-1/2', { start: 0, end: 2 }],
  ['bytes=0-1', { start: 0, end: 2 }],
  ['0-1/*', { start: 0, end: 2 }],
  ['1-0', undefined],
  ['', undefined],
  ['0-', undefined],
  ['-5', undefined],
  ['0-1,2-3', undefined],
  ['a-b', undefined],
  ['0x0-1', undefined],
  [`0-${'9'.repeat(16)}`, undefined],
])('the chunk %j is at %j', (header, expected) => {
  expect(readChunkRange(header)).toEqual(expected);
});
