import { describe, expect, it } from 'vitest';
import { DEFAULT_DIALECT, PERMISSIVE_DIALECT } from '../resolve/dialect.js';
import { parse } from '../syntax/parse.js';
import { StarlarkSyntaxError } from '../syntax/syntax-error.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { compile } from './program.js';
import { run } from './run.js';

const SEED = Number(process.env.KRMHUB_TEST_SEED ?? 1);
const COUNT = Number(process.env.KRMHUB_TEST_COUNT ?? 1500);
const LIMITS = { maxSteps: 20_000, maxMemoryBytes: 4_000_000, maxOutputBytes: 100_000, maxDepth: 50 };

/** Programs with most of the syntax, to be mutated. */
const PROGRAMS = [
  `
load("m", "a", b="a")
def f(x, y=[1, 2], *args, z=3, **kwargs):
    """doc"""
    for i, (j, k) in [(1, (2, 3))]:
        if i < j and not k == i or x in y:
            continue
        elif x:
            break
        else:
            pass
        x += i * j // k % 2 - -k
    while x:
        x -= 1
    return [lambda v=x: v + 1, {k: v for k, v in kwargs.items()}, y[::-1], x if y else z]
f(1, 2, *[3], z=4, **{"w": 5})[0]()
`,
  `
d = {"a": [1, 2.5, None], (1, "x"): b"\\xff\\x00", 3: {"n": ()}}
d["b"], d["c"] = d["a"][1:], "%s %d %r" % ("é", 5, [True])
for k in list(d):
    d[k] = [d[k]] * 3
s = "a,b,c".split(",")
s.append("{} {x}".format(1, x=2))
print(sorted(s, key=len, reverse=True), set(s) | set(["z"]), len(s), 1 << 70 | 1, 7 / 2, "é"[0])
print([x * y for x in range(5) if x % 2 for y in s if y], dir(s), getattr(s, "index")("a"))
`,
];
const PIECES = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  ';',
  '\n',
  '\n    ',
  '  ',
  '\t',
  '.',
  '=',
  '==',
  '+',
  '-',
  '*',
  '**',
  '/',
  '//',
  '%',
  '<<',
  '>>',
  '|',
  '&',
  '^',
  '~',
  '!',
  '!=',
  '<',
  '<=',
  '"',
  "'",
  '"""',
  '\\',
  '#',
  'r"',
  'b"',
  '0',
  '1',
  '-1',
  '1e308',
  '0x',
  '1.5',
  '9007199254740991',
  'None',
  'True',
  'x',
  'y',
  's',
  'd',
  'k',
  'i',
  'f',
  'not ',
  ' in ',
  ' and ',
  ' or ',
  'if ',
  ' else ',
  'for ',
  'while ',
  'def ',
  'lambda ',
  'return ',
  'break',
  'continue',
  'pass',
  'load(',
  'print(',
  'range(',
  'repr(',
  '__proto__',
  'constructor',
  'é',
  '😀',
  '\ud800',
  '\0',
  '[::-1]',
  '+=',
  '|=',
  '*args',
  '**kwargs',
];

/** A generator of numbers that depends on its seed alone. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function mutate(text: string, next: (below: number) => number): string {
  let result = text;
  for (let changes = 1 + next(4); changes > 0; changes--) {
    const at = next(result.length + 1);
    const piece = PIECES[next(PIECES.length)]!;
    const other = next(result.length + 1);
    switch (next(5)) {
      case 0:
        result = result.slice(0, at) + piece + result.slice(at);
        break;
      case 1:
        result = result.slice(0, at) + result.slice(at + 1 + next(10));
        break;
      case 2:
        result = result.slice(0, at) + piece + result.slice(at + piece.length);
        break;
      case 3:
        result = result.slice(0, at) + result.slice(other, other + next(40)) + result.slice(at);
        break;
      default:
        result = result.slice(0, at) + piece.repeat(1 + next(200)) + result.slice(at);
    }
  }
  return result;
}

/** Runs a program; returns what is wrong if it fails in a way that no program may. */
function defect(text: string, permissive: boolean): string | undefined {
  try {
    const dialect = permissive ? PERMISSIVE_DIALECT : DEFAULT_DIALECT;
    const program = compile(parse(text), { dialect });
    run(program, { limits: LIMITS, load: () => new Map([['a', 1]]) });
  } catch (error) {
    if (error instanceof StarlarkSyntaxError) return undefined;
    if (error instanceof EvaluationError && !error.message.startsWith('internal error')) return undefined;
    const cause = (error as Error).cause;
    return `${(error as Error).stack}\n${cause instanceof Error ? cause.stack : ''}`;
  }
  return undefined;
}

describe('random programs', () => {
  it(`end with a result or an error of their own, seed ${SEED}`, () => {
    const next = random(SEED);
    let ran = 0;
    for (let i = 0; i < COUNT; i++) {
      const text = mutate(PROGRAMS[i % PROGRAMS.length]!, next);
      const found = defect(text, i % 3 > 0);
      expect(found, `program ${i}:\n${text}`).toBeUndefined();
      ran++;
    }
    expect(ran).toBe(COUNT);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.getPrototypeOf(Object.prototype)).toBeNull();
  });
});
