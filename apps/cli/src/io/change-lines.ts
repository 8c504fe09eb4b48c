import { type Io, write } from './io.js';
import { printLine } from './print.js';
import { pipeTable } from './table.js';
import { visible, wrap } from './text.js';

/** For a program: a line for each change. */
export async function printRows(io: Io, rows: readonly (readonly string[])[]): Promise<void> {
  const lines = pipeTable(rows).map((line) => `${line}\n`);
  await write(io.stdout, lines.join(''));
}

/** How many changes there are of each weight, on stderr; `where` is what they are in. */
export async function printCounts(
  io: Io,
  counts: readonly (readonly [count: number, label: string])[],
  where = '',
): Promise<void> {
  const nothing = counts.every(([count]) => count === 0);
  await printLine(
    io,
    nothing ? 'nothing differs' : counts.map(([count, label]) => `${count} ${label}`).join(', ') + where,
  );
}

/** A change in as many lines as it takes; `label` stands before the first and may be painted. */
export function changeLines(
  { label, labelWidth, message }: { label: string; labelWidth: number; message: string },
  width: number,
): string[] {
  const indent = ' '.repeat(labelWidth);
  const [first = '', ...more] = wrap(visible(message), width - labelWidth - 2);
  return [`${label}${first}`, ...more.map((line) => `${indent}  ${line}`)];
}
