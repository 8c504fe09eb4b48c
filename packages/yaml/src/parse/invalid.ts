import { YamlError } from '../error.js';

/** The text cannot be parsed. Lines and columns count from 1; the caller adds the name of the file. */
export class YamlProblem extends Error {
  readonly reason: string;
  readonly row: number;
  /** Undefined: where the line starts. */
  readonly column: number | undefined;
  readonly hint: string | undefined;

  constructor(reason: string, row: number, { column, hint }: { column?: number; hint?: string } = {}) {
    super(reason);
    this.reason = reason;
    this.row = row;
    this.column = column;
    this.hint = hint;
  }
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
  return new YamlError(`cannot read ${place}: ${reason}`, {
    cause: problem,
    hint,
  });
}
