import { hideInValue } from '@krmhub/schema/hide-passwords';
import { type Io, paint, terminalWidth, write, writeData, writeVisible } from './io.js';
import { type Column, pipeTable, terminalTable } from './table.js';

export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Prints data on stdout in the requested format. */
export async function printData(
  io: Io,
  format: OutputFormat,
  data: object,
  table: () => Promise<void>,
): Promise<void> {
  if (format === 'table') return table();
  if (format === 'json') return printJson(io, data);
  const { toYaml } = await import('@krmhub/catalog');
  await writeData(io.stdout, toYaml(JSON.parse(JSON.stringify(data, withoutPassword))));
}

/** Prints data as JSON on stdout. */
export async function printJson(io: Io, data: object): Promise<void> {
  await writeVisible(io.stdout, jsonText(data));
}

/** Reports have texts of files and servers. */
function withoutPassword(_: string, value: unknown): unknown {
  return typeof value === 'string' ? hideInValue(value) : value;
}

/**
 * Formats JSON, without the passwords of URLs. Also escapes the control characters that JSON allows but a terminal
 * interprets.
 */
export function jsonText(data: object): string {
  const text = JSON.stringify(data, withoutPassword, 2).replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu,
    (character) =>
      Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
        .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
        .join(''),
  );
  return `${text}\n`;
}

/** Prints a table that fits a terminal, or tab-separated lines for a pipe. `terminal` and `pipe` return the cells. */
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
  const [header, ...lines] = terminalTable(columns, rows.map(cells.terminal), terminalWidth(io.stdout));
  await write(io.stdout, `${[bold(io, header!), ...lines].join('\n')}\n`);
}

/** Prints a line on stderr. */
export async function printLine(io: Io, line: string): Promise<void> {
  await write(io.stderr, `${line}\n`);
}

/** Prints a warning on stderr. */
export async function printWarning(io: Io, line: string): Promise<void> {
  await printLine(io, `${paint(io, io.stderr, ['bold', 'yellow'], 'warning')}: ${line}`);
}

export function bold(io: Io, text: string): string {
  return paint(io, io.stdout, 'bold', text);
}
