import { EvaluationError, formatPosition, type Position, StarlarkSyntaxError } from '@krmhub/starlark';

/** Frames of a call stack that a message shows, from each end. */
const MAX_FRAMES = 10;
const MAX_LINE = 200;

/** Why a script failed: in one line for the results, and for error output with the call stack and the source. */
export interface ScriptFailure {
  message: string;
  details: string;
}

/** Describes an error of a script; undefined for an error of krmhub. */
export function describeFailure(error: unknown, source: string): ScriptFailure | undefined {
  if (error instanceof StarlarkSyntaxError) {
    const message = `${formatPosition(error.position)}: ${error.message}`;
    const sourceLines = source.split('\n');
    const details = error.problems.map(
      (one) => `${formatPosition(one.position)}: ${one.message}\n${excerpt(sourceLines, one.position)}`,
    );
    return { message, details: details.join('') };
  }
  if (!(error instanceof EvaluationError)) return undefined;
  const { message, position, stackFrames } = error;
  const lines = stackFrames.map(({ name, position: at }) => {
    return `  ${at === undefined ? '<builtin>' : formatPosition(at)}: in ${name}\n`;
  });
  const shown =
    lines.length <= 2 * MAX_FRAMES
      ? lines
      : [
          ...lines.slice(0, MAX_FRAMES),
          `  … ${lines.length - 2 * MAX_FRAMES} more …\n`,
          ...lines.slice(-MAX_FRAMES),
        ];
  const stack = shown.length === 0 ? '' : `Traceback (most recent call last):\n${shown.join('')}`;
  return {
    message,
    details: `${stack}Error: ${message}\n${position === undefined ? '' : excerpt(source.split('\n'), position)}`,
  };
}

/** Returns the line of a position, with a mark below its column. */
function excerpt(lines: readonly string[], { line, column }: Position): string {
  // A character has at most two code units.
  const text = lines[line - 1]?.slice(0, 2 * MAX_LINE).replace(/\r$/, '');
  if (text === undefined || text.trim() === '' || column > MAX_LINE) return '';
  const number = String(line).padStart(4);
  const before = [...text]
    .slice(0, column - 1)
    .join('')
    .replace(/[^\t]/g, ' ');
  return `${number} | ${text.slice(0, MAX_LINE)}\n     | ${before}^\n`;
}
