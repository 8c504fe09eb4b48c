import { columnsOf, type Io, paint, write } from './io.js';
import { type Column, pipeTable, terminalTable } from './table.js';

export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Data on stdout, in the format asked for. */
export async function printData(
  io: Io,
  format: OutputFormat,
  data: object,
  table: () => Promise<void>,
): Promise<void> {
  if (format === 'table') return table();
  if (format === 'json') return write(io.stdout, jsonText(data));
  const { toYaml } = await import('@krmhub/catalog');
  await write(io.stdout, toYaml(JSON.parse(JSON.stringify(data))));
}

/** JSON escapes C0 controls itself; the rest of what a terminal may act on is escaped too. */
export function jsonText(data: object): string {
  const text = JSON.stringify(data, undefined, 2).replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu,
    (character) =>
      Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
        .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
        .join(''),
  );
  return `${text}\n`;
}

/** A table that fits a terminal, or lines for a program. `terminal` and `pipe` are the cells of each. */
export async function printTable<Row>(
  io: Io,
  columns: readonly Column[],
  rows: readonly Row[],
  cells: { terminal: (row: Row) => string[]; pipe: (row: Row) => string[] },
): Promise<void> {
  if (io.stdout.isTTY !== true) {
    const lines = pipeTable(rows.map(cells.pipe));
    return write(io.stdout, lines.map((line) => `${line}\n`).join(''));
  }
  const [header, ...lines] = terminalTable(columns, rows.map(cells.terminal), columnsOf(io.stdout));
  await write(io.stdout, `${[bold(io, header!), ...lines].join('\n')}\n`);
}

/** A line for the reader, on stderr. */
export async function printLine(io: Io, line: string): Promise<void> {
  await write(io.stderr, `${line}\n`);
}

/** A warning for the reader, on stderr. */
export async function printWarning(io: Io, line: string): Promise<void> {
  await printLine(io, `${paint(io, io.stderr, ['bold', 'yellow'], 'warning')}: ${line}`);
}

export function bold(io: Io, text: string): string {
  return paint(io, io.stdout, 'bold', text);
}
