import { describe, expect, test } from 'vitest';
import { EvaluationError } from '../values/evaluation-error.js';
import { repr } from '../values/repr.js';
import { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { type HeapValue, type Kwargs, NO_KWARGS, type Value } from '../values/value.js';
import { findAttribute } from './method-tables.js';
import { STRING_METHODS } from './string-methods.js';

const thread = new Thread();

function run(text: string, name: string, args: readonly Value[] = [], kwargs: Kwargs = NO_KWARGS): Value {
  return STRING_METHODS.get(name)?.(thread, text, args, kwargs) as Value;
}

const show = (value: Value) => repr(value, thread);

test.each<[string, string, Value[], string]>([
  ['aXbXc', 'split', ['X'], '["a", "b", "c"]'],
  ['aXbXc', 'split', ['X', 1], '["a", "bXc"]'],
  ['aXbXc', 'rsplit', ['X', 1], '["aXb", "c"]'],
  ['aXbXc', 'rsplit', ['X', 0], '["aXbXc"]'],
  ['  a  b c ', 'split', [], '["a", "b", "c"]'],
  ['  a  b c ', 'split', [null, 1], '["a", "b c "]'],
  ['  a  b c ', 'rsplit', [null, 1], '["  a  b", "c"]'],
  ['', 'split', [','], '[""]'],
  ['', 'split', [], '[]'],
  ['a\nb\n', 'splitlines', [], '["a", "b"]'],
  ['a\n\nb', 'splitlines', [true], '["a\\n", "\\n", "b"]'],
  ['héllo', 'find', ['l'], '3'],
  ['héllo', 'index', ['o', -2], '5'],
  ['banana', 'count', ['an'], '2'],
  ['é', 'count', [''], '2'],
  ['banana', 'rfind', ['an', 0, 4], '1'],
  ['banana', 'find', ['x'], '-1'],
  ['banana', 'replace', ['a', 'o', 2], '"bonona"'],
  ['éa', 'replace', ['', '-'], '"-é-a-"'],
  ['éa', 'replace', ['', '-', 2], '"-é-a"'],
  ['a.b.c', 'partition', ['.'], '("a", ".", "b.c")'],
  ['a.b.c', 'rpartition', ['.'], '("a.b", ".", "c")'],
  ['abc', 'rpartition', ['.'], '("", "", "abc")'],
  [' x\u00a0', 'strip', [], '"x"'],
  ['xxaxx', 'lstrip', ['x'], '"axx"'],
  ['éaé', 'strip', ['é'], '"a"'],
  ['hello world', 'title', [], '"Hello World"'],
  ['ÀB', 'lower', [], '"àb"'],
  ['straße', 'upper', [], '"STRASSE"'.replace('SS', 'ß')],
  ['éCOLE', 'capitalize', [], '"École"'],
  ['Hello World', 'istitle', [], 'True'],
  ['HelloWorld', 'istitle', [], 'False'],
  ['ABC1', 'isupper', [], 'True'],
  ['123', 'islower', [], 'False'],
  ['é1', 'isalnum', [], 'True'],
  ['', 'isspace', [], 'False'],
  ['foobar', 'removeprefix', ['foo'], '"bar"'],
  ['foobar', 'removesuffix', ['bar'], '"foo"'],
  ['foobar', 'startswith', ['bar', 3], 'True'],
  ['aé', 'elems', [], '"aé".elems()'],
])('%j.%s(%j) is %s', (text, name, args, expected) => {
  expect(show(run(text, name, args))).toBe(expected);
});

test('iterates over bytes and code points', () => {
  const elements = (name: string) =>
    show(new Tuple((run('aé', name) as HeapValue).elements(thread) as Value[]));
  expect(elements('elems')).toBe('("a", "\\xc3", "\\xa9")');
  expect(elements('elem_ords')).toBe('(97, 195, 169)');
  expect(elements('codepoints')).toBe('("a", "é")');
  expect(elements('codepoint_ords')).toBe('(97, 233)');
});

test('formats with positions, names, and conversions', () => {
  expect(run('{}-{{}}-{!r}', 'format', ['a', 'b'])).toBe('a-{}-"b"');
  expect(run('{1}{0}{x}', 'format', ['a', 'b'], [['x', 1]])).toBe('ba1');
});

test.each<[string, string, Value[], string]>([
  ['}', 'format', [], "format: single '}' in format"],
  ['{', 'format', [], "format: unmatched '{' in format"],
  ['{}{0}', 'format', [1], 'cannot switch from automatic field numbering to manual field specification'],
  ['{a.b}', 'format', [], 'format: attribute syntax x.y is not supported in replacement fields: a.b'],
  ['{:x}', 'format', [1], 'format spec features not supported in replacement fields: x'],
  ['{!z}', 'format', [1], 'format: unknown conversion "z"'],
  ['a', 'split', [''], 'split: empty separator'],
  ['a', 'index', ['b'], 'index: substring not found'],
  ['a', 'find', [1], 'find: for parameter 1: got int, want string'],
  ['a', 'find', ['a', 'b'], 'find: invalid start index: got string, want int'],
  ['a', 'upper', [1], 'upper: got 1 arguments, want 0'],
  ['a', 'replace', ['a'], 'replace: got 1 arguments, want at least 2'],
  ['a', 'join', [new Tuple(['a', 1])], 'join: in list, want string, got int'],
  ['a', 'startswith', [1], 'startswith: got int, want string or tuple of string'],
])('%j.%s(%j) fails', (text, name, args, problem) => {
  expect(() => run(text, name, args)).toThrow(problem);
});

test('no method has the name of a property of JavaScript', () => {
  for (const name of ['constructor', '__proto__', 'length', 'charCodeAt', 'toString']) {
    expect(findAttribute('a', name)).toBeUndefined();
  }
});

describe('large results end in an error', () => {
  const small = () => new Thread({ limits: { maxMemoryBytes: 1_000_000 } });
  const body = (name: string) =>
    STRING_METHODS.get(name) as NonNullable<ReturnType<typeof STRING_METHODS.get>>;

  test.each<[string, string, Value[]]>([
    ['a'.repeat(10_000), 'replace', ['a', 'b'.repeat(1000)]],
    ['a'.repeat(10_000), 'replace', ['', 'b'.repeat(1000)]],
    ['b'.repeat(100_000), 'join', [new Tuple(new Array(1000).fill(''))]],
    ['a,'.repeat(100_000), 'split', [',']],
    ['a '.repeat(100_000), 'split', []],
    ['{0}'.repeat(1000), 'format', ['a'.repeat(10_000)]],
    ['\n'.repeat(100_000), 'splitlines', []],
    ['\u00e9'.repeat(400_000), 'upper', []],
  ])('%.3s… %s', (text, name, args) => {
    expect(() => body(name)(small(), text, args, NO_KWARGS)).toThrow(/too much memory/);
  });

  test('searches from the end take time in proportion to the length', () => {
    const text = 'a'.repeat(4_000_000);
    expect(body('rfind')(thread, text, [`${'a'.repeat(2_000_000)}b`], NO_KWARGS)).toBe(-1);
    expect(body('rfind')(thread, text, [`b${'a'.repeat(2_000_000)}`], NO_KWARGS)).toBe(-1);
    expect(body('find')(thread, text, [`b${'a'.repeat(2_000_000)}`], NO_KWARGS)).toBe(-1);
  });

  test('counts steps for reading', () => {
    const few = new Thread({ limits: { maxSteps: 100 } });
    expect(() => body('count')(few, 'a'.repeat(100_000), ['b'], NO_KWARGS)).toThrow(EvaluationError);
  });
});
