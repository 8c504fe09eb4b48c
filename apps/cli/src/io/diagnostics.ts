import type { styleText } from 'node:util';
import type { Diagnostic, Severity } from '@krmhub/schema';
import { columnsOf, type Io, type Output, paint, write } from './io.js';
import { plural, textWidth, visible } from './text.js';

const COLORS = { error: 'red', warning: 'yellow', info: 'blue' } as const satisfies Record<Severity, string>;
const TAB = '    ';
/** Columns of a line that are shown before the place, where it does not fit as a whole. */
const LEAD = 20;

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/**
 * Diagnostics as compilers print them: what is wrong, where, the line with the place marked, and the way out.
 * `sources` has the bytes of the files; of a file that is not there no line is shown.
 */
export async function printDiagnostics(
  io: Io,
  stream: Output,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const painted: Paint = (style, text) => paint(io, stream, style, text);
  const width = columnsOf(stream);
  const lines = new Map<string, readonly string[]>();
  for (const diagnostic of diagnostics) {
    const { file } = diagnostic;
    if (!lines.has(file)) lines.set(file, linesOf(sources.get(file)));
    await write(stream, `${render(diagnostic, lines.get(file)!, width, painted)}\n\n`);
  }
}

/** `3 files: 2 errors, 1 warning`; a kind of which there is none is left out. */
export function summaryLine(files: number, findings: Readonly<Record<Severity, number>>): string {
  const found = [
    [findings.error, 'error', 'errors'],
    [findings.warning, 'warning', 'warnings'],
    [findings.info, 'note', 'notes'],
  ] as const;
  const said = found
    .filter(([number]) => number > 0)
    .map(([number, one, several]) => plural(number, one, several));
  return `${plural(files, 'file')}: ${said.length === 0 ? 'no problems' : said.join(', ')}`;
}

function linesOf(bytes: Uint8Array | undefined): readonly string[] {
  if (bytes === undefined) return [];
  return new TextDecoder('utf-8').decode(bytes).split('\n');
}

function render(diagnostic: Diagnostic, lines: readonly string[], width: number, painted: Paint): string {
  const { code, severity, message, file, path, range, hint } = diagnostic;
  const head = `${painted(['bold', COLORS[severity]], `${severity}[${code}]`)}: ${painted('bold', visible(message))}`;
  const place = range === undefined ? file : `${file}:${range.start.line}:${range.start.column}`;
  const source = range === undefined ? undefined : lines[range.start.line - 1];
  const gutter = ' '.repeat(range === undefined ? 1 : String(range.start.line).length);
  const out = [head, `${gutter}${painted('blue', '-->')} ${visible(place)}`];
  if (range !== undefined && source !== undefined) {
    const end = range.end.line === range.start.line ? range.end.column : source.length + 1;
    const { text, before, marked } = excerpt(source, range.start.column, end, width - gutter.length - 4);
    const bar = painted('blue', '|');
    out.push(
      `${gutter} ${bar}`,
      `${painted('blue', String(range.start.line))} ${bar} ${text}`,
      `${gutter} ${bar} ${' '.repeat(before)}${painted(COLORS[severity], '^'.repeat(Math.max(marked, 1)))}`,
    );
  }
  if (path !== '') out.push(`${gutter} ${painted('blue', '=')} at: ${visible(path)}`);
  if (hint !== undefined) out.push(`${gutter} ${painted('blue', '=')} hint: ${visible(hint)}`);
  return out.join('\n');
}

/**
 * The part of a line around a place that fits the columns, and in columns what stands before the place and
 * how much of it is shown. `start` and `end` count UTF-16 code units from one, as positions do.
 */
function excerpt(
  line: string,
  start: number,
  end: number,
  columns: number,
): { text: string; before: number; marked: number } {
  // Positions cannot be trusted further than the line goes.
  const from = Math.min(start - 1, line.length);
  const to = Math.max(Math.min(end - 1, line.length), from);
  const shown = (part: string) => visible(part.replaceAll('\t', TAB).replace(/\r$/, ''));
  // A megabyte of a line is not measured to show eighty columns of it.
  const cutBefore = Math.max(0, from - columns);
  let before = shown(line.slice(cutBefore, from));
  const marked = shown(line.slice(from, Math.min(to, from + columns)));
  const after = shown(line.slice(Math.min(to, from + columns), from + 2 * columns));
  const whole = cutBefore === 0 && from + 2 * columns >= line.length;
  if (whole && textWidth(before + marked + after) <= columns) {
    return { text: before + marked + after, before: textWidth(before), marked: textWidth(marked) };
  }
  if (textWidth(before) > LEAD && textWidth(before + marked) > columns - 1) {
    before = `…${lastColumns(before, LEAD - 1)}`;
  }
  const room = columns - textWidth(before) - 1;
  const rest = firstColumns(marked + after, room);
  const cut = rest.length < (marked + after).length || !whole;
  return {
    text: `${before}${rest}${cut ? '…' : ''}`,
    before: textWidth(before),
    marked: Math.min(textWidth(marked), textWidth(rest)),
  };
}

function firstColumns(text: string, columns: number): string {
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += textWidth(character);
    if (width > columns) break;
    kept += character;
  }
  return kept;
}

function lastColumns(text: string, columns: number): string {
  const characters = [...text];
  let width = 0;
  let start = characters.length;
  while (start > 0 && width + textWidth(characters[start - 1]!) <= columns)
    width += textWidth(characters[--start]!);
  return characters.slice(start).join('');
}
