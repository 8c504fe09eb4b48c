import { describe, expect, it } from 'vitest';
import { parse } from '../syntax/parse.js';
import { DEFAULT_DIALECT, type Dialect, PERMISSIVE_DIALECT } from './dialect.js';
import { findProblems } from './resolve.js';

const KNOWN = ['print', 'len', 'set'];

/** Returns the problems of a program as `line:column: message`. */
function problems(text: string, dialect: Partial<Dialect> = {}): string[] {
  const result = findProblems(parse(text), {
    dialect: { ...DEFAULT_DIALECT, ...dialect },
    isPredeclared: (name) => name === 'ctx',
    isUniversal: (name) => KNOWN.includes(name),
    knownNames: KNOWN,
  });
  return result.problems.map(({ message, position: { line, column } }) => `${line}:${column}: ${message}`);
}

describe('names', () => {
  it('must be defined, in the file or a function around', () => {
    expect(problems('def f():\n    return x + ctx\nx = len')).toEqual([]);
    expect(problems('def f():\n    return nme\nname = 1')).toEqual([
      '2:12: undefined: nme (did you mean name?)',
    ]);
    expect(problems('[x for x in []]\nx')).toEqual(['2:1: undefined: x']);
    expect(problems('def f():\n    def g():\n        return y\n    y = 1\n    return g')).toEqual([]);
  });

  it('are bound once at the top level, unless the dialect allows more', () => {
    const text = 'x = 1\nx = 2\ndef x(): pass\nload("m", "x")';
    expect(problems(text)).toEqual([
      '2:1: cannot reassign global x declared at input.star:1:1',
      '3:5: cannot reassign global x declared at input.star:1:1',
      '4:11: cannot reassign top-level x',
    ]);
    expect(problems(text, { globalReassign: true })).toEqual([]);
    expect(problems('load("m", "x")\nload("m", "x")', { loadBindsGlobally: true })).toEqual([
      '2:11: cannot reassign global x declared at input.star:1:11',
    ]);
    expect(problems(text, { globalReassign: true, loadBindsGlobally: true })).toEqual([]);
  });

  it('are all reported, in the order of the source', () => {
    expect(problems('def f():\n    a\nb\nc')).toEqual([
      '2:5: undefined: a',
      '3:1: undefined: b',
      '4:1: undefined: c',
    ]);
  });

  it('are compared with similar ones only a few times, and reported up to a number', () => {
    const text = Array.from({ length: 60_000 }, (_, i) => `name${i}\n`).join('');
    const before = process.cpuUsage();
    const found = problems(`nameX = 1\n${text}`);
    const { user } = process.cpuUsage(before);
    expect(found).toHaveLength(101);
    expect(found[0]).toBe('2:1: undefined: name0 (did you mean nameX?)');
    expect(found.filter((problem) => problem.includes('did you mean'))).toHaveLength(10);
    expect(found.at(-1)).toBe('101:1: 59900 more problems');
    // Comparing each with each takes many minutes.
    expect(user).toBeLessThan(30_000_000);
  });

  it('are compared with those of a small block only', () => {
    const many = Array.from({ length: 2000 }, (_, i) => `name${i} = 1\n`).join('');
    expect(problems(`${many}def f(value):\n    return valeu + nameX`)).toEqual([
      '2002:12: undefined: valeu (did you mean value?)',
      '2002:20: undefined: nameX',
    ]);
  });
});

describe('the dialect', () => {
  it('decides about loops, conditions and sets', () => {
    const text = 'while len:\n    pass\nfor x in []:\n    break\nif len: pass\nset()';
    expect(problems(text, { set: false })).toEqual([
      '1:1: dialect does not support while loops',
      '1:1: while loop not within a function',
      '3:1: for loop not within a function',
      '5:1: if statement not within a function',
      '6:1: dialect does not support sets',
    ]);
    expect(problems(text, PERMISSIVE_DIALECT)).toEqual([]);
  });
});

describe('statements', () => {
  it('belong where they make sense', () => {
    expect(problems('return 1\nbreak')).toEqual([
      '1:1: return statement not within a function',
      '2:1: break not in a loop',
    ]);
    expect(problems('def f():\n    load("m", "x")\n    continue')).toEqual([
      '2:5: load statement within a function',
      '3:5: continue not in a loop',
    ]);
    expect(problems('load("m", "_x")')[0]).toContain('names with leading underscores are not exported');
    expect(problems('1 = len')).toEqual(["1:1: can't assign to literal"]);
    expect(problems('(ctx, [len()]) = 1, 2', PERMISSIVE_DIALECT)).toEqual(["1:8: can't assign to callexpr"]);
    expect(problems('(a, b) += 1', PERMISSIVE_DIALECT)[0]).toContain('in augmented assignment');
  });
});

describe('parameters and arguments', () => {
  it.each([
    ['def f(a=1, b): pass', 'required parameter may not follow optional'],
    ['def f(*a, *b): pass', 'multiple * parameters not allowed'],
    ['def f(**a, b): pass', 'required parameter may not follow **a'],
    ['def f(a, a): pass', 'duplicate parameter: a'],
    ['def f(*): pass', 'bare * must be followed by keyword-only parameters'],
    ['len(a=1, a=2)', 'keyword argument "a" is repeated'],
    ['len(a=1, 2)', 'positional argument may not follow named'],
    ['len(*[], 2)', 'positional argument may not follow *args'],
    ['len(**{}, a=2)', 'keyword argument may not follow **kwargs'],
    ['len(**{}, *[])', '*args may not follow **kwargs'],
  ])('%s', (text, message) => {
    expect(problems(text)[0]).toContain(message);
  });

  it('may be keyword-only after a star', () => {
    expect(problems('def f(a, b=1, *, c, d=2, **e): pass')).toEqual([]);
  });
});
