import type { styleText } from 'node:util';
import type { Diagnostic, Severity } from '@krmhub/schema';
import { hidePasswords, withoutPasswords } from '@krmhub/schema/hide-passwords';
import { escapeControls, plural, textWidth } from '@krmhub/schema/text';
import { type Io, type Output, paint, terminalWidth, writeVisible } from './io.js';

const COLORS = { error: 'red', warning: 'yellow', info: 'blue' } as const satisfies Record<Severity, string>;
type Color = (typeof COLORS)[Severity];
const TAB = '    ';
/** Columns before the marked position in a line that does not fit. */
const MIN_LEAD_COLUMNS = 20;

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/**
 * Prints diagnostics as compilers do, without the passwords of URLs: message, position, the line with a mark, and the
 * hint. `sources` has the bytes of the files; without them, no line is printed. `note` is printed below the last one.
 */
export async function printDiagnostics(
  io: Io,
  stream: Output,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
  note?: string,
): Promise<void> {
  const painted: Paint = (style, text) => paint(io, stream, style, text);
  const width = terminalWidth(stream);
  const lines = new Map<string, readonly string[]>();
  for (const [at, diagnostic] of diagnostics.entries()) {
    const { file } = diagnostic;
    if (!lines.has(file)) lines.set(file, sourceLines(sources.get(file)));
    const own = at === diagnostics.length - 1 ? note : undefined;
    await writeVisible(
      stream,
      `${renderDiagnostic(diagnostic, lines.get(file)!, { width, painted, note: own })}\n\n`,
    );
  }
}

/** Returns a summary, for example `3 files: 2 errors, 1 warning`. */
export function summaryLine(files: number, findings: Readonly<Record<Severity, number>>): string {
  const severities = [
    [findings.error, 'error', 'errors'],
    [findings.warning, 'warning', 'warnings'],
    [findings.info, 'note', 'notes'],
  ] as const;
  const counts = severities
    .filter(([number]) => number > 0)
    .map(([number, one, several]) => plural(number, one, several));
  return `${plural(files, 'file')}: ${counts.length === 0 ? 'no problems' : counts.join(', ')}`;
}

function sourceLines(bytes: Uint8Array | undefined): readonly string[] {
  if (bytes === undefined) return [];
  return new TextDecoder('utf-8').decode(bytes).split('\n');
}

function renderDiagnostic(
  diagnostic: Diagnostic,
  lines: readonly string[],
  { width, painted, note }: { width: number; painted: Paint; note: string | undefined },
): string {
  const { code, severity, message, file, path, range, hint } = withoutPasswords(diagnostic);
  // A later registry can have other severities.
  const color = (COLORS as Partial<Record<string, Color>>)[severity] ?? COLORS.info;
  const head = `${painted(['bold', color], escapeControls(`${severity}[${code}]`))}: ${painted('bold', escapeControls(message))}`;
  const position = range === undefined ? file : `${file}:${range.start.line}:${range.start.column}`;
  const line = range === undefined ? undefined : lines[range.start.line - 1];
  // As long as the secret, so that the mark is below what it marks.
  const source = line && hidePasswords(line, (secret) => '*'.repeat(secret.length));
  const gutter = ' '.repeat(range === undefined ? 1 : String(range.start.line).length);
  const out = [head, `${gutter}${painted('blue', '-->')} ${escapeControls(hidePasswords(position))}`];
  if (range !== undefined && source !== undefined) {
    const end = range.end.line === range.start.line ? range.end.column : source.length + 1;
    const { text, before, marked } = excerpt(source, range.start.column, end, width - gutter.length - 4);
    const bar = painted('blue', '|');
    out.push(
      `${gutter} ${bar}`,
      `${painted('blue', String(range.start.line))} ${bar} ${text}`,
      `${gutter} ${bar} ${' '.repeat(before)}${painted(color, '^'.repeat(Math.max(marked, 1)))}`,
    );
  }
  if (path !== '') out.push(`${gutter} ${painted('blue', '=')} at: ${escapeControls(hidePasswords(path))}`);
  if (hint !== undefined) out.push(`${gutter} ${painted('blue', '=')} hint: ${escapeControls(hint)}`);
  if (note !== undefined)
    out.push(`${gutter} ${painted('blue', '=')} ${escapeControls(hidePasswords(note))}`);
  return out.join('\n');
}

/**
 * Returns the part of a line around a position that fits the columns, with the columns before the mark and of the mark.
 * `start` and `end` count UTF-16 code units from one.
 */
function excerpt(
  line: string,
  start: number,
  end: number,
  columns: number,
): { text: string; before: number; marked: number } {
  // Positions are untrusted: limits them to the line.
  const from = Math.min(start - 1, line.length);
  const to = Math.max(Math.min(end - 1, line.length), from);
  const shown = (part: string) => escapeControls(part.replaceAll('\t', TAB).replace(/\r$/, ''));
  // Measures only the part of a long line that can be visible.
  const cutBefore = Math.max(0, from - columns);
  let before = shown(line.slice(cutBefore, from));
  const marked = shown(line.slice(from, Math.min(to, from + columns)));
  const after = shown(line.slice(Math.min(to, from + columns), from + 2 * columns));
  const whole = cutBefore === 0 && from + 2 * columns >= line.length;
  if (whole && textWidth(before + marked + after) <= columns) {
    return { text: before + marked + after, before: textWidth(before), marked: textWidth(marked) };
  }
  if (textWidth(before) > MIN_LEAD_COLUMNS && textWidth(before + marked) > columns - 1) {
    before = `…${lastColumns(before, MIN_LEAD_COLUMNS - 1)}`;
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
  let result = '';
  let width = 0;
  for (const character of text) {
    width += textWidth(character);
    if (width > columns) break;
    result += character;
  }
  return result;
}

function lastColumns(text: string, columns: number): string {
  const characters = [...text];
  let width = 0;
  let start = characters.length;
  while (start > 0 && width + textWidth(characters[start - 1]!) <= columns)
    width += textWidth(characters[--start]!);
  return characters.slice(start).join('');
}
