import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { applyEdits, type TextEdit, unifiedDiff } from './text-edits.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-diff-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('');

function replace(text: string, old: string, next: string): TextEdit {
  const start = text.indexOf(old);
  return { start, end: start + old.length, text: next };
}

describe('unifiedDiff', () => {
  it('shows three lines around a change', () => {
    const text = lines(9);
    expect(unifiedDiff('Kptfile', text, [replace(text, '5', '5\nnew')])).toBe(
      `--- a/Kptfile
+++ b/Kptfile
@@ -2,7 +2,8 @@
 line 2
 line 3
 line 4
-line 5
+line 5
+new
 line 6
 line 7
 line 8
`,
    );
  });

  it('is empty without edits', () => {
    expect(unifiedDiff('Kptfile', 'a\n', [])).toBe('');
  });

  const hasPatch = spawnSync('patch', ['--version']).status === 0;
  const cases: [string, string, (text: string) => TextEdit[]][] = [
    ['the first line', lines(20), (text) => [replace(text, 'line 1\n', 'x\ny\n')]],
    ['the last line', lines(20), (text) => [replace(text, 'line 20', 'end')]],
    ['a last line without a line end', lines(5).trimEnd(), (text) => [replace(text, 'line 5', 'end')]],
    [
      'two changes of a line, and one of the next line',
      lines(20),
      (text) => [
        replace(text, 'line 9', 'x'),
        { start: text.indexOf('\nline 10'), end: text.indexOf('\nline 10'), text: '!' },
        replace(text, 'line 10', 'y\nz'),
      ],
    ],
    [
      'changes far apart',
      lines(40),
      (text) => [
        replace(text, 'line 3\n', ''),
        replace(text, 'line 12', 'a\nb'),
        replace(text, 'line 30', 'c'),
      ],
    ],
    ['line ends of Windows', lines(9).replaceAll('\n', '\r\n'), (text) => [replace(text, '5', '5\r\nnew')]],
  ];
  it.skipIf(!hasPatch).each(cases)('is what patch applies: %s', (_, text, editsOf) => {
    const edits = editsOf(text);
    const file = path.join(folder, 'Kptfile');
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync('patch', ['-p1', '--binary'], {
      cwd: folder,
      input: unifiedDiff('Kptfile', text, edits),
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(applyEdits(text, edits));
  });
});
