import type { Diagnostic, Severity } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { printGrouped, printWarnings } from './warnings.js';

const at = (code: string, file: string, line: number, severity: Severity = 'warning'): Diagnostic => ({
  code,
  severity,
  message: `${code} in line ${line}`,
  file,
  path: 'spec',
  range: { start: { line, column: 1 }, end: { line, column: 2 } },
});

const NONE = new Map<string, Uint8Array>();

it('prints the first warning of each code, and the places of the others', async () => {
  const io = testIo();
  const many = Array.from({ length: 7 }, (_, index) => at('image/tag', `${index}.yaml`, index + 1));
  await printWarnings(io, [at('names/kind', 'a.yaml', 3), ...many, at('x/y', 'a.yaml', 1, 'error')], NONE);
  expect(io.err()).toBe(
    [
      'warning[names/kind]: names/kind in line 3',
      ' --> a.yaml:3:1',
      '  = at: spec',
      '',
      'warning[image/tag]: image/tag in line 1',
      ' --> 0.yaml:1:1',
      '  = at: spec',
      '  = 6 more in 6 files: 1.yaml:2:1, 2.yaml:3:1, 3.yaml:4:1, 4.yaml:5:1, …',
      '',
      'warning: 8 warnings in 8 files; list them with `krmhub lint -o json`',
      '',
    ].join('\n'),
  );
});

it('prints no summary if every warning is printed', async () => {
  const io = testIo();
  await printWarnings(io, [at('a/b', 'a.yaml', 1), at('a/c', 'a.yaml', 2)], NONE);
  expect(io.err()).not.toContain('list them');
  expect(io.err().match(/^warning\[/gm)).toHaveLength(2);
});

it('groups no errors, and escapes the places', async () => {
  const io = testIo();
  const errors = [1, 2, 3].map((line) => at('a/b', 'a.yaml', line, 'error'));
  await printGrouped(io, [...errors, at('c/d', 'b.yaml', 1), at('c/d', 'b\u001b[2J.yaml', 2)], NONE);
  expect(io.err().match(/^error\[a\/b\]/gm)).toHaveLength(3);
  expect(io.err()).toContain('= 1 more: b␛[2J.yaml:2:1');
});
