import { describe, expect, it } from 'vitest';
import { PERMISSIVE_DIALECT } from '../resolve/dialect.js';
import { parse } from '../syntax/parse.js';
import { EvaluationError, type ExceededLimit } from '../values/evaluation-error.js';
import { repr } from '../values/repr.js';
import { Thread, type ThreadOptions } from '../values/thread.js';
import type { Value } from '../values/value.js';
import { compile } from './program.js';
import { run } from './run.js';

const LIMITS = { maxSteps: 2_000_000, maxMemoryBytes: 8_000_000, maxOutputBytes: 100_000 };

function failure(text: string, options: ThreadOptions = {}): EvaluationError {
  const program = compile(parse(text), { dialect: PERMISSIVE_DIALECT });
  try {
    run(program, { limits: LIMITS, ...options });
  } catch (error) {
    if (error instanceof EvaluationError) return error;
    throw error;
  }
  throw new Error('did not fail');
}

/** Returns the `repr` of the global `x`. */
function value(text: string): string {
  return repr(run(compile(parse(text), { dialect: PERMISSIVE_DIALECT })).globals.get('x') as Value);
}

describe('limits', () => {
  it.each<[ExceededLimit, string]>([
    ['steps', 'while True: pass'],
    ['steps', 'def f():\n    for i in range(1 << 40): pass\nf()'],
    ['steps', 'x = list(range(1000))\nwhile True: 1.5 in x'],
    ['steps', 'x = [1]\ny = [1]\nfor i in range(60):\n    x = [x, x]\n    y = [y, y]\nx == y'],
    ['memory', 'x = 1\nwhile True: x = (x << 500) >> 500'],
    ['memory', 'x = [1]\nwhile True: x += x'],
    ['memory', 'x = "a"\nwhile True: x = x + x'],
    ['memory', 'x = [1, 2] * (1 << 24)'],
    ['memory', 'x = "a" * (1 << 27)'],
    ['memory', 'x = {}\ni = 0\nwhile True:\n    x[i] = i\n    i += 1'],
    ['memory', 'x = [1]\nfor i in range(60): x = [x, x]\nrepr(x)'],
    ['memory', 'x = [[0] * 1000 for i in range(100000)]'],
    ['steps', 'x = (10,) * 1000\nwhile True: 3 in x'],
    ['steps', 'p = "b" + "a" * 3000\nt = ("b" + "a" * 2999 + "c") * 100\nwhile True: p in t'],
    ['steps', 'p = "a" * 3000 + "b"\nt = "a" * 1000000\nwhile True: t.rfind(p)'],
    ['steps', 'p = "b" + "a" * 1000\nt = ("b" + "a" * 999 + "c") * 100\nwhile True: t.split(p)'],
    ['steps', 'p = "b" + "a" * 1000\nt = ("b" + "a" * 999 + "c") * 100\nwhile True: t.rpartition(p)'],
    ['steps', 'p = b"b" + b"a" * 1000\nt = (b"b" + b"a" * 999 + b"c") * 100\nwhile True: p in t'],
    ['memory', 's = "a" * 100000\nd = {}\nfor i in range(10000): d[(s, i)] = i'],
    ['memory', 's = b"a" * 100000\nd = {}\nwhile True: s in d'],
    ['memory', 's = "a" * 100000\nx = set()\nfor i in range(10000): x.add((i, (s, i)))'],
    ['memory', 's = "a" * 100000\n"%r" * 1000 % ((s,) * 1000)'],
    ['memory', 's = "a" * 100000\n"{!r}".join([""] * 1000).format(*((s,) * 1000))'],
    ['steps', 's = "a" * 1000000\nt = "a" * 999999 + "b"\nwhile True: s == t'],
    ['steps', 's = "a" * 1000000\nt = "a" * 999999 + "b"\nwhile True: s < t'],
    ['steps', 's = b"a" * 100000\nt = b"a" * 99999 + b"b"\nwhile True: s == t or s < t'],
    ['steps', 's = "a" * 1000000\nt = s + "b"\nwhile True: s[0] + t[0]'],
    ['steps', 's = "é" * 1000000\nt = s + "b"\nwhile True: s[0] + t[0]'],
    ['steps', 's = "é" * 1000000\nt = s + "b"\nwhile True: len(s) + len(t)'],
    ['steps', 'd = {"k%d" % i: i for i in range(10000)}\nf = "{k9999}" * 10000\nf.format(**d)'],
    ['memory', '("a" * 1000000).replace("a", "b")'],
    ['steps', 's = "a" * 1000000\nx = sorted([s] * 10000)'],
    ['steps', 's = "a" * 1000000\nt = ["a" * 999999 + "b"] * 1000\nwhile True: s in t'],
    ['steps', 's = "a" * 1000000\nd = {}\nwhile True: s in d'],
    ['memory', 'b = b"a" * 1000000\nwhile True: x = b[0:]'],
    ['memory', 'b = b"a" * 10\nwhile True: x = b[0]'],
    ['memory', 'x = []\nwhile True: x.append([i for i in range(1000)])'],
    ['memory', 'x = []\nwhile True: x.append([0 for i in []])'],
    ['memory', 'def f(*args): return args\nx = [0] * 1000\nwhile True: f(*x)'],
    ['memory', 'def f(*args): return args\nx = "a" * 100000\nwhile True: f(*x.elems())'],
    ['memory', 'x = "," * 500000\nx.split(",")'],
    ['memory', 'x = "\\n" * 500000\nx.splitlines()'],
    ['memory', 'x = "a " * 250000\nx.split()'],
    ['memory', 'x = 3\nfor i in range(15): x *= x\nwhile True: x >> 1'],
    ['output', 'while True: print("a" * 1000)'],
    ['depth', 'def f(x): return f(x) + 1\nf(1)'],
    ['depth', 'def f(x): return sorted([1, 2], key = lambda y: f(y))\nf(1)'],
    ['depth', 'def f(x): return [f(y) for y in [x]]\nf(1)'],
  ])('end with %s: %s', (limit, text) => {
    expect(failure(text).limit).toBe(limit);
  });

  it('end with depth where the frames of a function are large', () => {
    const variables = Array.from({ length: 3000 }, (_, i) => `    x${i} = n + ${i}\n`).join('');
    const text = `def f(n):\n${variables}    return f(n + 1)\nf(0)`;
    expect(failure(text, { limits: { ...LIMITS, maxSteps: 1e9, maxDepth: 1e6 } }).limit).toBe('depth');
  });

  it('hold for ranges of any step', () => {
    const one = 'r = range(1)\nfor i in range(40): r = r[::2147483647]\n';
    expect(value(`${one}x = [len(r), list(r), "a" * len(r), [i for i in r]]`)).toBe('[1, [0], "a", [0]]');
    expect(value('x = list(range(10)[::2147483647][::-2147483648 + 1])')).toBe('[0]');
    expect(value('x = [range(10)[8:2:-2], range(3)[3:], list(range(5)[::-1])]')).toBe(
      '[range(8, 2, -2), range(3, 3), [4, 3, 2, 1, 0]]',
    );
    const long = 'r = range(-(1 << 53) + 1, (1 << 53) - 1)';
    expect(failure(long).message).toContain('out of range');
    expect(failure(`${one}while True: r = r[::2147483647]`).limit).toBe('steps');
  });

  it('end a run with a count that is not a number', () => {
    expect(() => new Thread().step(Number.NaN)).toThrow('too many steps');
    expect(() => new Thread().allocate(Number.NaN)).toThrow('too much memory');
  });

  it('give slices with a long step without the elements between', () => {
    expect(value('x = ("é" * 3)[::2147483647]')).toBe('"\\xc3"');
    expect(value('x = [b"abcdef"[::2], b"abcdef"[::-2], b"abc"[1:], b"abc"[1]]')).toBe(
      '[b"ace", b"fdb", b"bc", b"b"]',
    );
    expect(value('x = ["abcdef"[::-1], "aéb"[::-2], [1, 2, 3][::2], (1, 2, 3)[::-2]]')).toBe(
      '["fedcba", "b\\xc3", [1, 3], (3, 1)]',
    );
  });

  it('end numbers whose digits never end', () => {
    const digits = '"1" * 200000';
    expect(failure(`float(${digits} + "x")`).message).toContain('invalid float literal');
  });

  it('end the comparisons that seek the error of an order', () => {
    const shared = 'x = [1]\ny = [1]\nfor i in range(60):\n    x = [x, x]\n    y = [y, y]\n';
    expect(failure(`${shared}sorted([1, None, x, y])`).limit).toBe('steps');
  });

  it('end when the signal is aborted', () => {
    let looks = 0;
    const signal = {
      get aborted() {
        return ++looks > 2;
      },
    };
    expect(failure('while True: pass', { limits: {}, signal }).limit).toBe('aborted');
  });

  it('quote long strings in parts without a difference', () => {
    for (const length of [65_534, 65_535, 65_536]) {
      const quoted = value(`x = "a" * ${length} + "😀" + "\\n" * 70000 + "\\x00" + "é"[:1]`);
      expect(quoted).toBe(`"${'a'.repeat(length)}😀${'\\n'.repeat(70_000)}\\x00\\xc3"`);
    }
  });

  it('end deep values', () => {
    const deep = 'x = []\nfor i in range(20000): x = [x]\n';
    expect(failure(`${deep}repr(x)`).message).toContain('nested too deeply');
    expect(failure(`${deep}y = []\nfor i in range(20000): y = [y]\nx == y`).message).toContain('recursion');
    expect(failure('x = ()\nfor i in range(20000): x = (x,)\n{x: 1}').message).toContain('nested too deeply');
    expect(failure('x = [1]\nx.append(x)\nx == x').message).toContain('recursion');
    expect(run(compile(parse(deep), { dialect: PERMISSIVE_DIALECT })).globals.has('x')).toBe(true);
  });

  it('end ints that grow', () => {
    expect(failure('x = 3\nwhile True: x = x * x').message).toMatch(
      /too large|too many steps|too much memory/,
    );
    expect(failure('1 << 512').message).toBe('shift count too large: 512');
  });

  it('let a program finish that stays below them', () => {
    const { thread } = run(compile(parse('x = [i for i in range(1000)]')), { limits: LIMITS });
    expect(thread.steps).toBeGreaterThanOrEqual(1000);
    expect(thread.steps).toBeLessThan(1100);
  });
});

describe('names of JavaScript', () => {
  it('are ordinary names and keys', () => {
    const names = [
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      'arguments',
      'eval',
      'thread',
      'p',
      't1',
      'R',
    ];
    const text = names.map((name) => `${name} = "${name}"`).join('\n');
    const { globals } = run(compile(parse(text)));
    expect([...globals]).toEqual(names.map((name) => [name, name]));
    const call = `def f(**k): return k\nx = f(${names.map((name) => `${name} = 1`).join(', ')})`;
    expect(run(compile(parse(call))).globals.get('x')).toBeDefined();
  });

  it.each([
    '[].constructor',
    '"".__proto__',
    '{}.constructor',
    '(lambda: 1).constructor',
    'len.call',
    '"{0.constructor}".format("")',
    '"%(constructor)s" % {}',
    '{}["__proto__"]',
    'getattr([], "constructor")',
  ])('are not attributes or keys: %s', (text) => {
    expect(failure(text).limit).toBeUndefined();
  });

  it('cannot be reached through strings of the program', () => {
    const text = `x = "'; globalThis.escaped = 1; '"\ny = {"\`\${globalThis.escaped = 1}": x}\nz = lambda **k: k`;
    run(compile(parse(text)));
    expect('escaped' in globalThis).toBe(false);
    const program = compile(parse(text));
    expect(program.code).not.toContain('escaped');
  });
});
