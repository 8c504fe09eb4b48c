import { expect, it } from 'vitest';
import { PERMISSIVE_DIALECT } from '../resolve/dialect.js';
import { parse } from '../syntax/parse.js';
import { compile } from './program.js';
import { run } from './run.js';

const repeat = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join('');

const SHAPES: readonly (readonly [string, string])[] = [
  ['functions on one line', `x = [${'lambda:0,'.repeat(100_000)}]`],
  ['conditions after many names', repeat(40_000, (i) => `a${i}=0\n`) + 'a0 and a1\n'.repeat(40_000)],
  ['loops after many names', `${repeat(40_000, (i) => `a${i}=0\n`)}${'for b in []: pass\n'.repeat(20_000)}`],
  [
    'branches after many names',
    `${repeat(30_000, (i) => `b${i}=0\n`)}if 0: pass\n${repeat(20_000, (i) => `elif ${i}: a${i}=0\n`)}`,
  ],
  [
    'ints with equal lower digits',
    `x = [${repeat(45_000, (i) => `0x${(i + 1).toString(16)}0000000000000000,`)}]`,
  ],
];

it.each(SHAPES)('%s take time in proportion to the length', (_, text) => {
  const before = process.cpuUsage();
  const { code } = compile(parse(text), { dialect: PERMISSIVE_DIALECT });
  const { user } = process.cpuUsage(before);
  expect(code.length).toBeGreaterThan(text.length / 2);
  // Each takes about a second; in proportion to the square, from 15 seconds to several minutes.
  expect(user).toBeLessThan(12_000_000);
});

it('comprehensions in comprehensions are too large at some depth, not a crash', () => {
  let text = '1';
  for (let i = 0; i < 90; i++) text = `[${text}${' for a in b'.repeat(49)}]`;
  expect(outcome(`b = []\nx = ${text}`)).toMatch(/^program too large: /);
});

const outcome = (text: string) => {
  try {
    return run(compile(parse(text), { dialect: PERMISSIVE_DIALECT })).globals.get('x');
  } catch (error) {
    return (error as Error).message;
  }
};

it.each<[string, unknown]>([
  // Assigned in one branch, in all, and in all that go on.
  ['if 0: x = 1\nx', 'global variable x referenced before assignment'],
  ['if 0: x = 1\nelse: x = 2\nx', 2],
  ['if 0: x = 1\nelif 0: pass\nelse: x = 2\nx', 2],
  ['if 1: pass\nelif 0: x = 1\nelse: x = 2\nx', 'global variable x referenced before assignment'],
  ['def f():\n    if 0: return 1\n    else: y = 2\n    return y\nx = f()', 2],
  [
    'def f():\n    if 1: pass\n    else: y = 2\n    return y\nx = f()',
    'local variable y referenced before assignment',
  ],
  [
    'def f():\n    if 1:\n        if 0: y = 1\n    else: y = 2\n    return y\nx = f()',
    'local variable y referenced before assignment',
  ],
  ['def f():\n    if 1:\n        y = 3\n        if 0: y = 1\n    else: y = 2\n    return y\nx = f()', 3],
  [
    'def f():\n    for _ in []: y = 1\n    return y\nx = f()',
    'local variable y referenced before assignment',
  ],
  ['def f():\n    y = 1\n    for _ in [1]: y = 4\n    0 and y\n    return y\nx = f()', 4],
])('a variable has a value after %j', (text, expected) => {
  expect(outcome(text)).toBe(expected);
});
