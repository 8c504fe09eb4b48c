import { number } from './figures.js';
import type { Spread } from './measure.js';
import type { Line } from './row.js';

/** The results of one or more runs. */
export interface Results {
  /** The machine, for readers who compare figures. */
  machine: string;
  lines: Measured[];
}

/** A line, and the version of Node.js that ran the bench and krmhub. */
export type Measured = Line & { node: string };

export const MARKERS = ['<!-- bench:begin -->', '<!-- bench:end -->'] as const;

/** Returns one Markdown table per row of the bench by its title, without the columns that are empty in it. */
function markdownTables({ lines }: Results, titles: ReadonlyMap<string, string>): Map<string, string> {
  const names = [...new Set(lines.map(({ row }) => row))];
  return new Map(
    names.map((name) => {
      const [headings, ...rows] = table(
        lines.filter(({ row }) => row === name),
        ({ what }) => what,
      );
      const shown = headings!.map((_, column) => rows.some((row) => !['', '–'].includes(row[column]!)));
      const text = [headings!, headings!.map(() => '---'), ...rows].map((row) => {
        const cells = row.filter((_, column) => shown[column]).map((cell) => cell.replaceAll('|', '\\|'));
        return `| ${cells.join(' | ')} |`;
      });
      return [titles.get(name) ?? name, text.join('\n')];
    }),
  );
}

/** Returns one table of all lines for a terminal. */
export function textTable({ machine, lines }: Results, titles: ReadonlyMap<string, string>): string {
  const rows = table(lines, ({ row, what }) => `${titles.get(row) ?? row}: ${what}`);
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const text = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return [machine, '', ...text, ''].join('\n');
}

/**
 * Returns the headings and a row of each measurement, with the figure and the ratio of every version of Node.js. Peers
 * and notes are of the oldest one.
 */
function table(lines: readonly Measured[], name: (line: Line) => string): string[][] {
  const versions = [...new Set(lines.map(major))].sort((a, b) => a - b);
  const [oldest, ...newer] = versions;
  const first = newer.length === 0 ? 'krmhub' : `krmhub, Node.js ${oldest}`;
  const more = newer.flatMap((version) => [`krmhub, Node.js ${version}`, 'ratio']);
  const headings = ['measurement', 'functions', first, 'peer', 'ratio', ...more, 'notes', 'target', 'met'];
  const rows = [...new Set(lines.map(measurement))].map((one) =>
    lines.filter((line) => measurement(line) === one),
  );
  return [headings, ...rows.map((same) => [name(same[0]!), ...columns(same, versions)])];
}

/** Returns the columns after the first. */
function columns(same: readonly Measured[], versions: readonly number[]): string[] {
  const { functions, against, beside, target } = same[0]!;
  const [first, ...newer] = versions.map((version) => {
    const line = same.find((one) => major(one) === version);
    return [line?.ours ?? '–', line?.ratio === undefined ? '–' : ratioText(line.ratio)] as const;
  });
  return [
    functions === undefined ? '' : functions.toLocaleString('en'),
    ...[first![0], against ?? '–', first![1], ...newer.flat()],
    beside ?? '',
    target?.text ?? '',
    met(same),
  ];
}

function ratioText({ median, low, high }: Spread): string {
  return `${number(median)} (${number(low)}–${number(high)})`;
}

/** Where the versions differ, each is named. */
function met(same: readonly Measured[]): string {
  const answers = same.flatMap((line) =>
    line.target === undefined ? [] : [[major(line), line.target.met ? 'yes' : 'no'] as const],
  );
  const different = new Set(answers.map(([, answer]) => answer)).size > 1;
  return different
    ? answers.map(([version, answer]) => `${version}: ${answer}`).join(', ')
    : (answers[0]?.[1] ?? '');
}

/** Returns what several versions of Node.js measure alike. */
function measurement({ row, what, functions }: Line): string {
  return `${row}/${what}/${functions ?? ''}`;
}

function major({ node }: Measured): number {
  return Number(node.split('.')[0]);
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

/**
 * Joins results of rows that still exist. A later line replaces an earlier one of the same name, size, and major version
 * of Node.js.
 */
export function joined(results: readonly Results[], rowNames: readonly string[]): Results {
  const lines = new Map<string, Measured>();
  for (const line of results.flatMap((one) => one.lines)) {
    if (!rowNames.includes(line.row)) continue;
    // A row that could not be measured before may be measured now.
    for (const [key, other] of lines) {
      const same =
        other.row === line.row && other.functions === line.functions && major(other) === major(line);
      if (same && isReason(other) !== isReason(line)) lines.delete(key);
    }
    lines.set(`${measurement(line)}/${major(line)}`, line);
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
