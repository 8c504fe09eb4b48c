import { describe, expect, it, test } from 'vitest';
import { SCRIPT_CODES, type ScriptCode } from './codes.js';
import { lintScript } from './lint-script.js';

const lint = (text: string) =>
  lintScript(Buffer.from(text), 'a.star').map(
    ({ code, range }) => `${code} ${range?.start.line}:${range?.start.column}`,
  );

/** A case that triggers each code, and one that does not. */
const CASES: [ScriptCode, string, string, string][] = [
  ['script/syntax', '1:9', 'x = 1 + \n', 'x = 1\n'],
  ['script/name', '2:3', 'def f(a):\n  b(a)\n', 'def f(a):\n  len(a)\n'],
  [
    'script/unknown-module',
    '1:6',
    "load('lib.star', 'x')\nx()\n",
    "load('re.star', 're')\nre.compile('x')\n",
  ],
  [
    'script/unknown-module',
    '1:28',
    "load('encoding/json.star', 'yaml')\nyaml.encode(1)\n",
    "load('json.star', 'json')\njson.encode(1)\n",
  ],
  [
    'script/unavailable-module',
    '1:6',
    "load('http.star', 'http')\nhttp.get('x')\n",
    "load('hash.star', 'hash')\nhash.md5('x')\n",
  ],
  [
    'script/unused-load',
    '1:20',
    "load('krmfn.star', 'krmfn')\n",
    "load('krmfn.star', k='krmfn')\nk.match_name\n",
  ],
  [
    'script/unreachable',
    '3:3',
    'def f():\n  return 1\n  print(2)\n',
    'def f(x):\n  if x:\n    return 1\n  print(2)\n',
  ],
  [
    'script/unreachable',
    '6:3',
    'def f(x):\n  if x:\n    return 1\n  else:\n    fail("x")\n  print(2)\n',
    'def f(x):\n  if x:\n    return 1\n  elif not x:\n    return 2\n  print(2)\n',
  ],
  [
    'script/unreachable',
    '3:3',
    'for x in [1]:\n  continue\n  print(x)\n',
    'for x in [1]:\n  print(x)\n  continue\n',
  ],
  ['script/too-large', '1:1', `#${'x'.repeat(1_048_576)}\n`, '# x\n'],
];

describe('lint of scripts', () => {
  it.each(CASES)('finds %s at %s: %j', (code, position, bad, good) => {
    expect(lint(bad)).toEqual([`${code} ${position}`]);
    expect(lint(good)).toEqual([]);
  });

  it('has a case for every code', () => {
    expect(new Set(CASES.map(([code]) => code))).toEqual(new Set(Object.keys(SCRIPT_CODES)));
  });

  it('allows what kpt allows: loops outside of functions, recursion, and sets', () => {
    expect(
      lint(
        'def f(n):\n  return f(n - 1) if n else set([1])\nfor r in ctx.resource_list["items"]:\n  x = f(1)\n  x = x\n',
      ),
    ).toEqual([]);
  });

  it('refuses text that is not UTF-8', () => {
    expect(lintScript(Buffer.from([0x78, 0xff]), 'a.star')).toMatchObject([{ code: 'script/syntax' }]);
  });
});

test('a long line with many findings takes as long as many lines', () => {
  const names = Array.from({ length: 60_000 }, (_, i) => `n${i}="json"`).join(',');
  const before = process.cpuUsage();
  const found = lintScript(Buffer.from(`load("encoding/json.star",${names})`), 'a.star');
  const { user } = process.cpuUsage(before);
  expect(found).toHaveLength(60_000);
  expect(new Set(found.map(({ code }) => code))).toEqual(new Set(['script/unused-load']));
  expect(user).toBeLessThan(30_000_000);
});
