import { describe, expect, test } from 'vitest';
import { Builtin } from '../values/builtin.js';
import { Bytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { StarlarkFloat } from '../values/float.js';
import { List } from '../values/list.js';
import { Range } from '../values/range.js';
import { repr } from '../values/repr.js';
import { StarlarkSet } from '../values/set.js';
import { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { type HeapValue, type Kwargs, NO_KWARGS, type Value } from '../values/value.js';
import { getAttribute, typeMethods } from './method-tables.js';
import { formatPercent } from './percent-format.js';
import { UNIVERSE } from './universe.js';

const thread = new Thread();

function run(name: string, args: readonly Value[], kwargs: Kwargs = NO_KWARGS, on = thread): Value {
  return (UNIVERSE.get(name) as HeapValue).call(on, args, kwargs) as Value;
}
const list = (...items: Value[]) => new List(items);
const float = (value: number) => new StarlarkFloat(value);
const builtin = (name: string) => UNIVERSE.get(name) as Value;

test.each<[string, Value[], string]>([
  ['abs', [-(2n ** 70n)], '1180591620717411303424'],
  ['abs', [float(-1.5)], '1.5'],
  ['all', [list(1, 0)], 'False'],
  ['all', [new Range(1, 1e15, 1)], 'True'],
  ['all', [new Range(-9, 1e15, 3)], 'False'],
  ['all', [new Range(0, 0, 1)], 'True'],
  ['any', [list(0, 1)], 'True'],
  ['any', [new Range(0, 1e15, 1)], 'True'],
  ['any', [new Range(0, 1, 1)], 'False'],
  ['any', [new Range(5, 5, 1)], 'False'],
  ['bool', [list()], 'False'],
  ['bytes', ['é'], 'b"é"'],
  ['bytes', [list(104, 255)], 'b"h\\xff"'],
  ['chr', [0x1f600], '"😀"'],
  ['chr', [0xd800], '"\ufffd"'],
  ['dict', [list(new Tuple(['a', 1]), list('b', 2))], '{"a": 1, "b": 2}'],
  ['dir', [new Bytes(new Uint8Array())], '["elems"]'],
  ['enumerate', [list('a', 'b'), 1], '[(1, "a"), (2, "b")]'],
  ['float', ['1_000.5'], '1000.5'],
  ['float', ['0x1p-2'], '0.25'],
  ['float', ['-Infinity'], '-inf'],
  ['hash', ['abc'], '96354'],
  ['hash', [new Bytes(Uint8Array.of(97, 98, 99))], '440920331'],
  ['int', ['-0x10', 16], '-16'],
  ['int', ['z', 36], '35'],
  ['int', [float(-1e30)], '-1000000000000000019884624838656'],
  ['len', ['é'], '2'],
  ['list', [new Range(0, 3, 1)], '[0, 1, 2]'],
  ['max', [1, 3, 2], '3'],
  ['min', [list('b', 'a')], '"a"'],
  ['ord', ['é'], '233'],
  ['range', [10], 'range(10)'],
  ['range', [1, 10, 2], 'range(1, 10, 2)'],
  ['repr', ['a'], '"\\"a\\""'],
  ['reversed', [new Tuple([1, 2])], '[2, 1]'],
  ['set', [list(1, 2, 1)], 'set([1, 2])'],
  ['sorted', [list(3, 1, 2)], '[1, 2, 3]'],
  ['sorted', [list('b', 'a'), builtin('len')], '["b", "a"]'],
  ['str', [new Bytes(Uint8Array.of(97, 255))], '"a\ufffd"'],
  ['tuple', [list(1)], '(1,)'],
  ['type', [null], '"NoneType"'],
  ['zip', [new Range(2, 1e15, 3), list('a', 'b')], '[(2, "a"), (5, "b")]'],
  ['zip', [new Range(0, 1e15, 1), new Range(3, 3, 1)], '[]'],
  ['zip', [list(1, 2), list('a')], '[(1, "a")]'],
])('%s: case %#', (name, args, expected) => {
  expect(repr(run(name, args), thread)).toBe(expected);
});

test('reports the last pair without order in a short list, as starlark-go does', () => {
  expect(() => run('sorted', [list(1, 2, null, 3)])).toThrow('int < NoneType not implemented');
  expect(() => run('sorted', [list(3, 1, 'a', 2)])).toThrow('int < string not implemented');
});

test('sorts stably in both directions', () => {
  const words = list('bb', 'a', 'cc', 'd');
  const sorted = (reverse: boolean) =>
    repr(
      run(
        'sorted',
        [words],
        [
          ['key', builtin('len')],
          ['reverse', reverse],
        ],
      ),
      thread,
    );
  expect(sorted(false)).toBe('["a", "d", "bb", "cc"]');
  expect(sorted(true)).toBe('["bb", "cc", "a", "d"]');
});

test.each<[string, Value[], string]>([
  ['abs', ['a'], 'got string, want int or float'],
  ['all', [1], 'all: for parameter 1: got int, want iterable'],
  ['bytes', [list(256)], 'bytes: at index 0, 256 out of range (want value in unsigned 8-bit range)'],
  ['chr', [-1], 'chr: Unicode code point -1 out of range (<0)'],
  ['chr', [0x110000], 'chr: Unicode code point U+110000 out of range (>0x10FFFF)'],
  ['dict', [list(1)], 'dict: dictionary update sequence element #0 is not iterable (int)'],
  ['dict', [list(list(1))], 'dict: dictionary update sequence element #0 has length 1, want 2'],
  ['fail', ['a', 1], 'fail: a 1'],
  ['float', ['1e400'], 'floating-point number too large'],
  ['float', ['x'], 'invalid float literal: x'],
  ['getattr', ['a', 'x'], 'getattr: string has no .x field or method'],
  ['int', ['010', 0], 'int: invalid literal with base 0: 010'],
  ['int', [1, 2], "int: can't convert non-string with explicit base"],
  ['int', [float(Number.NaN)], 'int: cannot convert float NaN to integer'],
  ['len', [1], 'len: value of type int has no len'],
  ['max', [list()], 'max: argument is an empty sequence'],
  ['max', [list(1, 'a')], 'max: string > int not implemented'],
  ['ord', ['ab'], 'ord: string encodes 2 Unicode code points, want 1'],
  ['range', [0, 1, 0], 'range: step argument must not be zero'],
  ['set', [list(list())], 'set: unhashable type: list'],
  ['sorted', [list(1, 'a')], 'not implemented'],
  ['zip', [list(), 1], 'zip: argument #2 is not iterable: int'],
])('%s fails: case %#', (name, args, problem) => {
  expect(() => run(name, args)).toThrow(problem);
});

test.each<[string, Value, string]>([
  ['%s %r %d%%', new Tuple(['a', 'b', float(3.9)]), 'a "b" 3%'],
  ['%(k)s', dictOf('k', 1), '1'],
  ['%x %X %o', new Tuple([-255, 255, 8]), '-ff FF 10'],
  ['%c%c', new Tuple([233, 'x']), 'éx'],
  ['%e %f %g', new Tuple([1, 1, 1]), '1.000000e+00 1.000000 1.0'],
])('%j formats', (format, argument, expected) => {
  expect(formatPercent(thread, format, argument)).toBe(expected);
});

test.each<[string, Value, string]>([
  ['%s', new Tuple([]), 'not enough arguments for format string'],
  ['a', 1, 'too many arguments for format string'],
  ['%z', 1, 'unknown conversion %z'],
  ['%', 1, 'incomplete format'],
  ['%(a', new Dict(), 'incomplete format key'],
  ['%(a)s', new Dict(), 'key not found: a'],
  ['%d', 'a', '%d format requires integer: cannot convert string to int'],
  ['%c', 'ab', '%c format requires a single-character string'],
])('%j does not format', (format, argument, problem) => {
  expect(() => formatPercent(thread, format, argument)).toThrow(problem);
});

function dictOf(key: Value, value: Value): Dict {
  const dict = new Dict();
  dict.set(key, value);
  return dict;
}

describe('methods', () => {
  const apply = (receiver: Value, name: string, ...args: Value[]) =>
    typeMethods(receiver)?.get(name)?.(thread, receiver, args, NO_KWARGS) as Value;

  test('of lists', () => {
    const items = list(1, 2, 3);
    apply(items, 'insert', -1, 9);
    apply(items, 'extend', items);
    apply(items, 'remove', 9);
    expect(repr(items, thread)).toBe('[1, 2, 3, 1, 2, 9, 3]');
    expect(apply(items, 'pop', 0)).toBe(1);
    expect(apply(items, 'index', 3, 2)).toBe(5);
    expect(() => apply(items, 'pop', 10)).toThrow('pop: list index 10 out of range [-6:5]');
    items.frozen = true;
    expect(() => apply(items, 'append', 1)).toThrow('append: cannot append to frozen list');
  });

  test('of dicts', () => {
    const dict = new Dict();
    apply(dict, 'update', list(new Tuple(['b', 1]), new Tuple(['a', 2])));
    expect(apply(dict, 'setdefault', 'c')).toBeNull();
    expect(repr(apply(dict, 'popitem'), thread)).toBe('("b", 1)');
    expect(repr(apply(dict, 'items'), thread)).toBe('[("a", 2), ("c", None)]');
    expect(() => apply(dict, 'pop', 'x')).toThrow('pop: missing key');
    expect(() => apply(dict, 'get', list())).toThrow('get: unhashable type: list');
  });

  test('popitem stays fast when many entries were deleted', () => {
    const dict = new Dict();
    for (let key = 0; key < 200_000; key++) dict.set(key, key);
    for (let key = 0; key < 199_000; key++) expect((apply(dict, 'popitem') as Tuple).items[0]).toBe(key);
    dict.set(199_000, 'again');
    dict.delete(199_000);
    dict.set(199_000, 'last');
    expect((apply(dict, 'popitem') as Tuple).items[0]).toBe(199_001);
  });

  test('of sets', () => {
    const set = StarlarkSet.of([1, 2, 3]);
    expect(repr(apply(set, 'symmetric_difference', list(3, 4)), thread)).toBe('set([1, 2, 4])');
    expect(apply(set, 'issuperset', list(1))).toBe(true);
    expect(apply(set, 'pop')).toBe(1);
    expect(() => apply(set, 'remove', 9)).toThrow('remove: missing key');
  });

  test('suggests attributes', () => {
    expect(() => getAttribute(list(), 'apend')).toThrow(
      'list has no .apend field or method (did you mean .append?)',
    );
  });
});

test('functions that make something large end in an error', () => {
  const small = () => new Thread({ limits: { maxMemoryBytes: 1_000_000, maxSteps: 1_000_000 } });
  const huge = new Range(0, 1e12, 1);
  for (const name of ['list', 'tuple', 'sorted', 'reversed', 'set', 'enumerate', 'max', 'bytes', 'zip']) {
    expect(() => run(name, [huge], NO_KWARGS, small()), name).toThrow(/too (much memory|many steps)/);
  }
  expect(() => run('int', ['9'.repeat(200_000)])).toThrow('int: more than 100000 digits');
});

test('each function is named', () => {
  for (const [name, value] of UNIVERSE) if (value instanceof Builtin) expect(value.name).toBe(name);
});
