import { number } from './figures.js';
import type { Line } from './row.js';

/** The results of one or more runs. */
export interface Results {
  /** The machine, for readers who compare figures. */
  machine: string;
  lines: Line[];
}

export const MARKERS = ['<!-- bench:begin -->', '<!-- bench:end -->'] as const;

const HEADINGS = ['measurement', 'functions', 'krmhub', 'peer', 'ratio', 'notes', 'target', 'met'];

/** Returns one Markdown table per row of the bench by its title, without the columns that are empty in it. */
function markdownTables({ lines }: Results, titles: ReadonlyMap<string, string>): Map<string, string> {
  const names = [...new Set(lines.map(({ row }) => row))];
  return new Map(
    names.map((name) => {
      const rows = lines.filter(({ row }) => row === name).map((line) => [line.what, ...columns(line)]);
      const shown = HEADINGS.map((_, column) => rows.some((row) => !['', '–'].includes(row[column]!)));
      const table = [HEADINGS, HEADINGS.map(() => '---'), ...rows].map((row) => {
        const cells = row.filter((_, column) => shown[column]).map((cell) => cell.replaceAll('|', '\\|'));
        return `| ${cells.join(' | ')} |`;
      });
      return [titles.get(name) ?? name, table.join('\n')];
    }),
  );
}

/** Returns one table of all lines for a terminal. */
export function textTable({ machine, lines }: Results, titles: ReadonlyMap<string, string>): string {
  const rows = [HEADINGS, ...lines.map((line) => cells(line, titles))];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const text = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return [machine, '', ...text, ''].join('\n');
}

function cells(line: Line, titles: ReadonlyMap<string, string>): string[] {
  return [`${titles.get(line.row) ?? line.row}: ${line.what}`, ...columns(line)];
}

/** Returns the columns after the first. */
function columns({ functions, ours, against, ratio, beside, target }: Line): string[] {
  return [
    functions === undefined ? '' : functions.toLocaleString('en'),
    ours,
    against ?? '–',
    ratio === undefined ? '–' : `${number(ratio.median)} (${number(ratio.low)}–${number(ratio.high)})`,
    beside ?? '',
    target?.text ?? '',
    target === undefined ? '' : target.met ? 'yes' : 'no',
  ];
}

/**
 * Replaces the tables of measured rows in a document, and keeps those of other rows that still exist. Throws if the
 * document has no markers for them.
 */
export function withTables(document: string, results: Results, titles: ReadonlyMap<string, string>): string {
  const [begin, end] = MARKERS;
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the document has no ${begin} and ${end}`);
  const start = from + begin.length;
  const [machines, ...earlier] = document
    .slice(start, to)
    .trim()
    .split(/\n+### /);
  const tables = new Map(
    earlier.map((section): [string, string] => {
      const [title, ...table] = section.split(/\n+(?=\|)/);
      return [title!, table.join('\n')];
    }),
  );
  const known = machines!.split('\n\n').filter((machine) => machine !== '');
  for (const [title, table] of markdownTables(results, titles)) tables.set(title, table);
  const order = [...titles.values()];
  const sections = [...tables]
    .filter(([title]) => order.includes(title))
    .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .flatMap(([title, table]) => [`### ${title}`, table]);
  const text = [...new Set([...known, ...results.machine.split('\n\n')]), ...sections].join('\n\n');
  return `${document.slice(0, start)}\n${text}\n${document.slice(to)}`;
}

/** Joins results of rows that still exist; a later line replaces an earlier one of the same name and size. */
export function joined(results: readonly Results[], rowNames: readonly string[]): Results {
  const lines = new Map<string, Line>();
  for (const line of results.flatMap((one) => one.lines)) {
    if (!rowNames.includes(line.row)) continue;
    // A row that could not be measured before may be measured now.
    for (const [key, other] of lines) {
      if (other.row === line.row && other.functions === line.functions && isReason(other) !== isReason(line))
        lines.delete(key);
    }
    lines.set(`${line.row}/${line.what}/${line.functions ?? ''}`, line);
  }
  const order = (line: Line) => [rowNames.indexOf(line.row), line.functions ?? 0] as const;
  return {
    machine: [...new Set(results.map(({ machine }) => machine))].join('\n\n'),
    lines: [...lines.values()].sort((a, b) => order(a)[0] - order(b)[0] || order(a)[1] - order(b)[1]),
  };
}

function isReason({ figures }: Line): boolean {
  return Object.keys(figures).length === 0;
}
