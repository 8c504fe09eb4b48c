import { KrmhubError } from '../../diagnostics/error.js';

/** The text cannot be parsed. `row` counts lines from 1; the caller adds the name of the file. */
export class YamlProblem extends Error {
  readonly reason: string;
  readonly row: number;

  constructor(reason: string, row: number) {
    super(reason);
    this.reason = reason;
    this.row = row;
  }
}

/** The error for the user; `rowsBefore` is the number of lines above the document. */
export function invalidYaml(name: string, problem: unknown, rowsBefore = 0): unknown {
  if (!(problem instanceof YamlProblem)) return problem;
  return new KrmhubError(
    'invalid-document',
    `cannot read ${name}: line ${problem.row + rowsBefore}: ${problem.reason}`,
    {
      cause: problem,
    },
  );
}
