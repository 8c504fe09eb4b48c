import { describe, expect, it } from 'vitest';
import { Bytes } from './bytes.js';
import { Dict } from './dict.js';
import { StarlarkFloat } from './float.js';
import { List } from './list.js';
import { repr } from './repr.js';
import { Tuple } from './tuple.js';
import type { Value } from './value.js';

function dict(...entries: [Value, Value][]): Dict {
  const result = new Dict();
  for (const [key, value] of entries) result.set(key, value);
  return result;
}

describe('dict', () => {
  it('has one entry for equal keys, and keeps the first key and its place', () => {
    const numbers = dict([1, 'int'], [2, 'two'], [new StarlarkFloat(1), 'float']);
    expect(repr(numbers)).toBe('{1: "float", 2: "two"}');
    expect(dict([2n ** 64n, 1]).get(new StarlarkFloat(2 ** 64))).toBe(1);
    expect(dict([new Tuple([1, 'a']), 1]).get(new Tuple([new StarlarkFloat(1), 'a']))).toBe(1);
  });

  it('tells keys of different types apart', () => {
    const keys = [
      null,
      true,
      false,
      1,
      0,
      '1',
      'n1;',
      new Tuple([1]),
      new Tuple(['1']),
      new Bytes(Uint8Array.of(49)),
    ];
    const all = dict(...keys.map((key, i): [Value, Value] => [key, i]));
    expect(all.size).toBe(keys.length);
    for (const [i, key] of keys.entries()) expect(all.get(key)).toBe(i);
    expect(all.get(new Tuple([new Tuple([1])]))).toBeUndefined();
  });

  it('refuses keys that can change, too deep, or too large', () => {
    expect(() => dict([new List(), 1])).toThrow('unhashable type: list');
    let deep: Value = 1;
    for (let i = 0; i < 100_000; i++) deep = new Tuple([deep]);
    expect(() => dict([deep, 1])).toThrow('nested too deeply');
    let wide: Value = new Tuple(['x']);
    for (let i = 0; i < 100; i++) wide = new Tuple([wide, wide]);
    expect(() => dict([wide, 1])).toThrow('too large to hash');
    expect(dict([new Tuple([1]), 2]).get(new Tuple([1]))).toBe(2);
  });

  it('has no inherited keys', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) expect(dict().get(name)).toBeUndefined();
  });
});
