import { describe, expect, it } from 'vitest';
import { defined } from './defined.js';

describe('defined', () => {
  it('leaves out what is undefined, and nothing else', () => {
    const found = defined({ a: undefined, b: null, c: 0, d: '', e: false, f: [] });
    expect(Object.entries(found)).toEqual([
      ['b', null],
      ['c', 0],
      ['d', ''],
      ['e', false],
      ['f', []],
    ]);
  });

  it('keeps the order of the properties, also between those of a literal', () => {
    const between = { z: 1, ...defined({ y: 2, b: undefined, x: 3 }), a: 4 };
    expect(JSON.stringify(between)).toBe('{"z":1,"y":2,"x":3,"a":4}');
  });

  it('does not change a property that was there before', () => {
    const missing = undefined as string | undefined;
    expect({ name: 'before', ...defined({ name: missing }) }).toEqual({ name: 'before' });
  });

  it('makes only what can be undefined optional, and keeps literal types', () => {
    const type = 'oci' as 'oci' | 'git' | undefined;
    const exact: { type?: 'oci' | 'git'; form: 'json'; flag?: true } = defined({
      type,
      form: 'json',
      flag: type === 'git' ? true : undefined,
    });
    expect(exact).toEqual({ type: 'oci', form: 'json' });
  });
});
