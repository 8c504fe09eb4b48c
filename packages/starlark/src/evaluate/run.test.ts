import { describe, expect, it } from 'vitest';
import { PERMISSIVE_DIALECT } from '../resolve/dialect.js';
import { parse } from '../syntax/parse.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { repr } from '../values/repr.js';
import { compile } from './program.js';
import { type RunOptions, run } from './run.js';

/** Runs a program and returns what it prints. */
function output(text: string, options: RunOptions = {}): string[] {
  const lines: string[] = [];
  const program = compile(parse(text, { file: 'test.star' }), {
    dialect: PERMISSIVE_DIALECT,
    predeclared: options.predeclared?.keys() ?? [],
  });
  run(program, { print: (line) => lines.push(line), ...options });
  return lines;
}

function failure(text: string, options: RunOptions = {}): EvaluationError {
  try {
    output(text, options);
  } catch (error) {
    if (error instanceof EvaluationError) return error;
    throw error;
  }
  throw new Error('did not fail');
}

/** Returns the value of an expression as text. */
const value = (expression: string) => output(`print(repr(${expression}))`)[0];

describe('expressions', () => {
  it('computes with ints of any size', () => {
    expect(value('9007199254740991 + 1')).toBe('9007199254740992');
    expect(value('9007199254740993 - 9007199254740992')).toBe('1');
    expect(value('3037000500 * 3037000500')).toBe('9223372037000250000');
    expect(value('-7 // 2')).toBe('-4');
    expect(value('-7 % 2')).toBe('1');
    expect(value('7 % -2')).toBe('-1');
    expect(value('9007199254740991 // 2')).toBe('4503599627370495');
    expect(value('-(1 << 70) // 3')).toBe('-393530540239137101142');
    expect(value('0 * -1')).toBe('0');
    expect(value('-4 % 2')).toBe('0');
    expect(value('1 << 40 | 1')).toBe('1099511627777');
    expect(value('~5')).toBe('-6');
  });

  it('computes with floats, and compares them with ints exactly', () => {
    expect(value('1 / 2')).toBe('0.5');
    expect(value('-3.5 // 2')).toBe('-2.0');
    expect(value('1 == 1.0')).toBe('True');
    expect(value('9007199254740993 == 9007199254740992.0')).toBe('False');
  });

  it('orders sets by inclusion, also where a function or a sequence compares them', () => {
    expect(value('[set([1]) < set([1, 2]), set([1]) < set([1]), set([1]) <= set([1])]')).toBe(
      '[True, False, True]',
    );
    expect(value('[set([1]) > set([2]), set([1]) >= set([2]), set([1]) <= set([2])]')).toBe(
      '[False, False, False]',
    );
    expect(value('max(set([1]), set([1, 2]), set([3]))')).toBe('set([1, 2])');
    expect(value('(set([1]), 0) > (set([1, 2]), 0)')).toBe('False');
    expect(failure('max(set(), None)').message).toContain('max: NoneType > set not implemented');
  });

  it('looks for the integers of bytes only', () => {
    expect(value('[97 in b"abc", 255 in b"abc"]')).toBe('[True, False]');
    for (const number of ['256', '-1', '1 << 70']) {
      expect(failure(`(${number}) in b"abc"`).message).toMatch(/int in bytes: -?\d+ out of range/);
    }
  });

  it('evaluates only what a condition needs', () => {
    expect(value('[] or 0 or "x" or fail()')).toBe('"x"');
    expect(value('1 and [] and fail()')).toBe('[]');
    expect(value('1 if True else fail()')).toBe('1');
    expect(value('not (1 < 2 and "a" in "cat")')).toBe('False');
  });

  it('slices sequences and bytes of strings', () => {
    expect(value('"abcdef"[1:-1:2]')).toBe('"bd"');
    expect(value('[1, 2, 3][::-1]')).toBe('[3, 2, 1]');
    expect(value('"é"[0] + "é"[1]')).toBe('"é"');
    expect(value('range(10)[2:8:3]')).toBe('range(2, 8, 3)');
  });

  it('binds variables of comprehensions inside of them only', () => {
    expect(value('[(x, y) for x in range(3) if x for y in range(x)]')).toBe('[(1, 0), (2, 0), (2, 1)]');
    expect(value('{k: v for k, v in [("a", 1)]}')).toBe('{"a": 1}');
    expect(output('x = 1\ny = [x for x in [2, 3]]\nprint(x, y)')).toEqual(['1 [2, 3]']);
  });
});

describe('statements', () => {
  it('reads all values before it assigns the first', () => {
    expect(output('a, b = 1, 2\na, b = b, a\nprint(a, b)')).toEqual(['2 1']);
    expect(output('x = [1, 2]\nx[1], x[0] = x\nprint(x)')).toEqual(['[2, 1]']);
  });

  it('leaves loops by break, continue and return, and lets the list change afterwards', () => {
    const lines = output(`
def f(x):
    for i in x:
        for j in x:
            if j == 2:
                return (i, j)
x = [1, 2, 3]
print(f(x))
for i in x:
    if i == 1:
        continue
    break
x.append(4)
print(i, x)
n = 0
while True:
    n += 1
    if n > 5: break
print(n)`);
    expect(lines).toEqual(['(1, 2)', '2 [1, 2, 3, 4]', '6']);
  });

  it('binds arguments to all kinds of parameters', () => {
    const define = 'def f(a, b=2, *args, c, d=4, **kwargs):\n    return (a, b, args, c, d, kwargs)\n';
    expect(output(`${define}print(f(1, c=3))`)).toEqual(['(1, 2, (), 3, 4, {})']);
    expect(output(`${define}print(f(*[1, 2, 3], **{"c": 5, "z": 6}))`)).toEqual([
      '(1, 2, (3,), 5, 4, {"z": 6})',
    ]);
    expect(failure(`${define}f()`).message).toBe('function f missing 2 arguments (a, c)');
    expect(failure('def g(x): pass\ng(1, y=2)').message).toContain('unexpected keyword argument "y"');
  });

  it('closes over variables, not values', () => {
    const lines = output(`
def counter():
    n = [0]
    def next():
        n[0] += 1
        return n[0]
    return next
c = counter()
c()
print(c(), [f() for f in [lambda: i for i in range(3)]] if False else 0)
fs = [lambda: i for i in range(3)]
print([f() for f in fs])`);
    expect(lines).toEqual(['2 0', '[2, 2, 2]']);
  });

  it('extends a list in place by +=', () => {
    expect(output('a = [1]\nb = a\na += (2,)\nprint(b)\na = a + [3]\nprint(b)')).toEqual([
      '[1, 2]',
      '[1, 2]',
    ]);
  });

  it('loads names of modules, and counts their steps', () => {
    const load = () => new Map([['value', 1]]);
    expect(output('load("m.star", "value", y="value")\nprint(value + y)', { load })).toEqual(['2']);
    expect(failure('load("m.star", "valeu")', { load }).message).toBe(
      'load: name valeu not found in module m.star (did you mean value?)',
    );
    expect(failure('load("m.star", "x")').message).toContain('load not implemented');
  });

  it('makes loaded names globals only in the dialect for that', () => {
    const names = (loadBindsGlobally: boolean) => {
      const text = 'load("m.star", "value", y="value")\ndef f(): return y\nz = value + f()';
      const program = compile(parse(text), { dialect: { loadBindsGlobally } });
      return Object.fromEntries(run(program, { load: () => new Map([['value', 1]]) }).globals);
    };
    expect(names(false)).toEqual({ f: expect.anything(), z: 2 });
    expect(names(true)).toEqual({ value: 1, y: 1, f: expect.anything(), z: 2 });
  });

  it('freezes globals', () => {
    const { globals } = run(compile(parse('x = [1, {"a": []}]')));
    expect(repr(globals.get('x')!)).toBe('[1, {"a": []}]');
    const predeclared = new Map([['x', globals.get('x')!]]);
    expect(failure('x.append(1)', { predeclared }).message).toContain('frozen list');
    expect(failure('x[1]["a"] += [1]', { predeclared }).message).toContain('frozen list');
  });
});

describe('errors', () => {
  it('have the call stack, the position, and the line', () => {
    const error = failure('def f(x):\n    return x + [1 // 0]\n\nf([])\n');
    expect(error.position).toEqual({ file: 'test.star', line: 2, column: 19 });
    expect(error.format()).toBe(
      [
        'Traceback (most recent call last):',
        '  test.star:4:2: in <toplevel>',
        '  test.star:2:19: in f',
        'Error: floored division by zero',
        '  |     return x + [1 // 0]',
        '  |                   ^',
      ].join('\n'),
    );
    expect(failure('sorted(1)').format()).toContain('Error in sorted: ');
  });

  it('say which variable has no value', () => {
    expect(failure('def f():\n    return x\nf()\nx = 1').message).toBe(
      'global variable x referenced before assignment',
    );
    expect(failure('def f(c):\n    if c:\n        y = 1\n    return y\nf(False)').message).toBe(
      'local variable y referenced before assignment',
    );
  });

  it('refuse changes of what is iterated', () => {
    expect(failure('x = [1]\nfor i in x: x.append(2)').message).toContain('during iteration');
    expect(failure('x = {1: 2}\nfor i in x: x[3] = 4').message).toContain('during iteration');
    expect(failure('x = [1]\n[x.append(i) for i in x]').message).toContain('during iteration');
  });

  it('refuse recursion where the dialect does', () => {
    const program = compile(parse('def f(n):\n    return f(n)\nf(1)'));
    expect(() => run(program)).toThrow('function f called recursively');
    // The first failure leaves nothing behind.
    expect(() => run(program)).toThrow('function f called recursively');
    expect(failure('def f(n):\n    return f(n) + 1\nf(1)').limit).toBe('depth');
  });
});
