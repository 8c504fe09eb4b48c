import { YamlError } from '../error.js';
import { findUnclosed, placeOf } from './unclosed.js';

/** The text cannot be parsed. Lines and columns count from 1; the caller adds the name of the file. */
export class YamlProblem extends Error {
  readonly reason: string;
  readonly row: number;
  /** Undefined: where the line starts. */
  readonly column: number | undefined;
  readonly hint: string | undefined;
  /** The offsets of what is wrong. Undefined: only the line is known. */
  readonly range: readonly [start: number, end: number] | undefined;
  /** The offset of the innermost bracket, brace, or quote that is open there. */
  readonly opened: number | undefined;
  /** The limit that was exceeded. Undefined: the syntax is invalid. */
  readonly limit: ExceededLimit | undefined;

  constructor(reason: string, row: number, { column, hint, range, opened, limit }: ProblemDetails = {}) {
    super(reason);
    this.reason = reason;
    this.row = row;
    this.column = column;
    this.hint = hint;
    this.range = range;
    this.opened = opened;
    this.limit = limit;
  }
}

export type ExceededLimit = 'too-deep' | 'too-many-keys' | 'too-many-aliases';

interface ProblemDetails {
  column?: number;
  hint?: string;
  range?: readonly [start: number, end: number];
  opened?: number | undefined;
  limit?: ExceededLimit | undefined;
}
/** What is read, for messages: a file, or something that has a name only. */
export interface ReadText {
  name: string;
  isFile: boolean;
}

/** The error for the user; `text` is the document, and `rowsBefore` the number of lines above it. */
export function invalidYaml(
  { name, isFile }: ReadText,
  problem: unknown,
  text: string,
  rowsBefore = 0,
): unknown {
  if (!(problem instanceof YamlProblem)) return problem;
  const { reason, row, hint } = problem;
  const line = text.split('\n', row)[row - 1] ?? '';
  const { column = Math.max(line.search(/\S/), 0) + 1 } = problem;
  const place = isFile ? `${name}:${row + rowsBefore}:${column}` : `${name}: line ${row + rowsBefore}`;
  return new YamlError(`cannot read ${place}: ${reason}${unclosedText(problem, text, rowsBefore)}`, {
    cause: problem,
    hint,
  });
}

/** What is not closed, and where it was opened: behind it can be many lines. */
function unclosedText(problem: YamlProblem, text: string, rowsBefore: number): string {
  const unclosed = findUnclosed(problem, text);
  if (unclosed === undefined) return '';
  const { opened, wrongEnd } = unclosed;
  const { row, column } = placeOf(text, opened);
  const end = wrongEnd === undefined ? 'not closed' : `closed with ${wrongEnd}`;
  return `; the ${text[opened]} in line ${row + rowsBefore}, column ${column} is ${end}`;
}
