import { stripVTControlCharacters } from 'node:util';
import type { Diagnostic } from '@krmhub/schema';
import { textWidth } from '@krmhub/schema/text';
import { describe, expect, it } from 'vitest';
import { type TestIoOptions, testIo } from '../testing/command-line.js';
import { printDiagnostics, summaryLine } from './diagnostics.js';

const base: Diagnostic = {
  code: 'image/floating-tag',
  severity: 'error',
  message: 'the tag moves',
  file: 'a.yaml',
  path: '',
};
const at = (line: number, from: number, to: number, endLine = line) => ({
  range: { start: { line, column: from }, end: { line: endLine, column: to } },
});

async function print(
  diagnostic: Partial<Diagnostic>,
  source?: string | Uint8Array,
  options?: TestIoOptions,
): Promise<string> {
  const io = testIo(options);
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  const sources = new Map(bytes === undefined ? [] : [['a.yaml', bytes]]);
  await printDiagnostics(io, io.stderr, [{ ...base, ...diagnostic }], sources);
  expect(io.out()).toBe('');
  return io.err();
}

/** The excerpt's line, and below it the part that the carets mark. */
function marked(printed: string): { line: string; under: string } {
  const lines = stripVTControlCharacters(printed).split('\n');
  const index = lines.findIndex((line) => /^ +\| +\^+$|^ +\| \^+$/.test(line));
  const carets = lines[index]!;
  const line = lines[index - 1]!;
  const from = carets.indexOf('^');
  const to = carets.lastIndexOf('^') + 1;
  let column = 0;
  let under = '';
  for (const character of line) {
    if (column >= from && column < to) under += character;
    column += textWidth(character);
  }
  return { line, under };
}

describe('a diagnostic', () => {
  it('is printed with its source line', async () => {
    const source = 'spec:\n  image: a:latest\n';
    expect(await print({ ...at(2, 10, 18), path: 'spec.image', hint: 'Use a release.' }, source)).toBe(
      `error[image/floating-tag]: the tag moves
 --> a.yaml:2:10
  |
2 |   image: a:latest
  |          ^^^^^^^^
  = at: spec.image
  = hint: Use a release.

`,
    );
  });

  it('without a position or a source has only the file', async () => {
    expect(await print({})).toBe('error[image/floating-tag]: the tag moves\n --> a.yaml\n\n');
    expect(await print(at(7, 3, 4))).toBe('error[image/floating-tag]: the tag moves\n --> a.yaml:7:3\n\n');
    // A place beyond the file is not believed.
    expect(await print(at(9, 3, 4), 'one line')).not.toContain('^');
    expect(marked(await print(at(1, 500, 900), 'short')).line).toBe('1 | short');
  });

  it('marks the right columns after tabs, wide, and combining characters', async () => {
    expect(marked(await print(at(1, 4, 7), '\t\t:key: x')).under).toBe('key');
    expect(marked(await print(at(1, 4, 7), '日本 key: x')).under).toBe('key');
    expect(marked(await print(at(1, 4, 7), 'e\u0301 key: x')).under).toBe('key');
    expect(marked(await print(at(1, 4, 7), '😀 key: x')).under).toBe('key');
    expect(marked(await print(at(1, 3, 2, 3), 'a: |\r\n b\r\n c')).under).toBe(' |');
    expect(marked(await print(at(2, 1, 2), 'a: b\r\nc: d\r\n')).line).toBe('2 | c: d');
  });

  it.each([40, 80, 132])('fits %i columns at any position', async (columns) => {
    const long = `${'x'.repeat(300)}KEY${'y'.repeat(300)}`;
    for (const source of [long, long.replaceAll('x', '日'), long.replaceAll('x', '\t')]) {
      const printed = await print(at(1, 301, 304), source, { tty: true, columns, env: { NO_COLOR: '1' } });
      for (const line of printed.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      expect(marked(printed).under).toBe('KEY');
      expect(marked(printed).line).toMatch(/^1 \| ….*…$/);
    }
    const whole = await print(at(1, 1, 601), long, { tty: true, columns, env: { NO_COLOR: '1' } });
    for (const line of whole.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns);
  });

  it('shows a position in a line of one megabyte quickly', async () => {
    const started = process.cpuUsage();
    const printed = await print(at(1, 500_001, 500_004), `${'x'.repeat(500_000)}KEY${'x'.repeat(500_000)}`);
    expect(marked(printed).under).toBe('KEY');
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  });

  it('escapes control characters', async () => {
    const hostile = 'a\u001b]0;title\u0007\u202e\u009b31m\r\nerror[x]: forged';
    const printed = await print(
      { message: hostile, hint: hostile, path: hostile, file: 'a.yaml', ...at(1, 1, 2) },
      `${hostile.split('\r')[0]}\n`,
    );
    expect(printed.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(printed.split('\n').filter((line) => line.startsWith('error['))).toHaveLength(1);
  });

  it('shows the text of a binary file', async () => {
    const printed = await print(at(1, 1, 3), new Uint8Array([0xff, 0xfe, 0x00, 0x41]));
    expect(printed).toContain('1 | \ufffd\ufffd␀A');
  });

  it('has colors only in a terminal that supports them', async () => {
    const color = (env: Record<string, string>, tty: boolean) => print(at(1, 1, 2), 'a: b', { tty, env });
    expect(await color({}, true)).toContain('\u001b[');
    expect(stripVTControlCharacters(await color({}, true))).toBe(await color({}, false));
    expect(await color({ NO_COLOR: '1' }, true)).not.toContain('\u001b');
    expect(await color({ TERM: 'dumb' }, true)).not.toContain('\u001b');
  });
});

describe('the summary', () => {
  it('counts files and findings', () => {
    expect(summaryLine(3, { error: 2, warning: 1, info: 0 })).toBe('3 files: 2 errors, 1 warning');
    expect(summaryLine(1, { error: 0, warning: 2, info: 0 })).toBe('1 file: 2 warnings');
    expect(summaryLine(2, { error: 0, warning: 0, info: 1 })).toBe('2 files: 1 note');
    expect(summaryLine(1, { error: 0, warning: 0, info: 0 })).toBe('1 file: no problems');
  });
});
