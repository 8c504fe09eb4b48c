import { escapeControls } from '@krmhub/schema/text';
import { type Io, write } from './io.js';
import { printLine } from './print.js';
import { pipeTable } from './table.js';
import { wrapText } from './wrap-text.js';

/** Prints tab-separated lines. */
export async function printRows(io: Io, rows: readonly (readonly string[])[]): Promise<void> {
  const lines = pipeTable(rows).map((line) => `${line}\n`);
  await write(io.stdout, lines.join(''));
}

/** Prints the number of changes by effect on stderr; `where` is appended. */
export async function printCounts(
  io: Io,
  counts: readonly (readonly [count: number, label: string])[],
  where = '',
): Promise<void> {
  const nothing = counts.every(([count]) => count === 0);
  await printLine(
    io,
    nothing ? 'no differences' : counts.map(([count, label]) => `${count} ${label}`).join(', ') + where,
  );
}

/** Wraps the message of a change. `label` precedes the first line and can be styled. */
export function changeLines(
  { label, labelWidth, message }: { label: string; labelWidth: number; message: string },
  width: number,
): string[] {
  const indent = ' '.repeat(labelWidth);
  const [first = '', ...more] = wrapText(escapeControls(message), width - labelWidth - 2);
  return [`${label}${first}`, ...more.map((line) => `${indent}  ${line}`)];
}
