import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readChunks } from './chunks.js';
import { runFile } from './run-suite.js';

const SUITE = path.resolve(import.meta.dirname, '../../../shared/data/starlark/bazelbuild-go-suite');
const reason = existsSync(SUITE) ? '' : ' (skipped: ../shared/data is not there)';

describe.skipIf(reason !== '')(`the suite of bazelbuild/starlark${reason}`, () => {
  it('passes, and the conformance page has its count', () => {
    const results = readdirSync(SUITE).map((name) =>
      runFile(name, readFileSync(path.join(SUITE, name), 'utf8')),
    );
    expect(results.flatMap(({ failures }) => failures)).toEqual([]);
    const passed = results.reduce((sum, one) => sum + one.passed, 0);
    const page = readFileSync(
      path.resolve(import.meta.dirname, '../../docs/internals/conformance.md'),
      'utf8',
    );
    expect(page).toContain(`passes all ${passed} chunks`);
  });
});

describe('the harness', () => {
  const failing = (text: string) =>
    runFile('a.star', text).failures.map(({ failure }) => `${failure.line}: ${failure.message}`);

  it('holds a chunk to its expectations, in both formats', () => {
    expect(failing('1 // 0 ### "division by zero"\n---\nx = 1\n')).toEqual([]);
    expect(failing('load("assert.star", "assert")\n---\nx = 1 // 0\n---\nx = 1 ### "y"\n')).toEqual([
      expect.stringMatching(/^3: .*division by zero/),
      '5: expected an error: "y"',
    ]);
    expect(failing('load("assert.star", "assert")\nx = 1 ### "division"\n1 // 0\n')).toHaveLength(1);
    expect(failing('1 // 0 ### (DIVISION|other)\n---\n### go: division\n### java: other\n1 // 0\n')).toEqual(
      [],
    );
    expect(failing('1 // 0 ### other\n---\nassert_eq(1, 2)\n---\nx = y ### rust: undefined\n')).toEqual([
      expect.stringMatching(/^1: .*division/),
      '3: 1 != 2',
      '5: undefined: y',
    ]);
  });

  it('takes no failed assertion for an expected error', () => {
    expect(
      failing(
        'load("assert.star", "assert")\nassert.eq(1, 2)\n---\nload("assert.star", "assert")\nassert.fails(lambda: 1, "x")\n',
      ),
    ).toEqual(['2: 1 != 2', '5: evaluation succeeded unexpectedly (want error matching "x")']);
    expect(
      failing(
        'load("assert.star", "assert", "freeze")\nx = freeze([1])\nassert.fails(lambda: x.append(1), "frozen")\nassert.contains([1], 1)\nassert.lt(1, 2)\nassert.ne(1, 2)\nassert.true(1)\n',
      ),
    ).toEqual([]);
  });

  it('turns on the options of a chunk only there', () => {
    const text =
      'load("assert.star", "assert")\n---\n# option:recursion option:set\ndef f(n):\n  return f(n - 1) if n else set()\nf(3)\n---\nset()\n';
    expect(failing(text)).toEqual([expect.stringContaining('8: dialect does not support sets')]);
  });

  it('refuses an expectation that is not an expression', () => {
    expect(() => readChunks('a.star', 'x ### (\n')).toThrow('a.star:1: not a regular expression');
  });
});
