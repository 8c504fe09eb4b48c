import { EvaluationError, formatPosition, type Position, StarlarkSyntaxError } from '@krmhub/starlark';

/** Frames of a call stack that a message shows, from each end. */
const MAX_FRAMES = 10;
const MAX_LINE = 200;
/** Problems of a text that a message shows. */
const MAX_PROBLEMS = 100;
/** Size of a message, which may have a value of the script. */
const MAX_CHARACTERS = 65_536;

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
    const details = error.problems
      .slice(0, MAX_PROBLEMS)
      .map((one) => `${formatPosition(one.position)}: ${one.message}\n${excerpt(sourceLines, one.position)}`);
    return { message: shortened(message), details: shortened(details.join('')) };
  }
  // Of V8: the stack, or the length of a string or an array.
  if (error instanceof RangeError) return createFailure(`the script is too large: ${error.message}`);
  if (!(error instanceof EvaluationError)) return undefined;
  const { position, stackFrames } = error;
  const message = shortened(error.message);
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
    details: `${shortened(stack)}Error: ${message}\n${position === undefined ? '' : excerpt(source.split('\n'), position)}`,
  };
}

/** A failure without a position. */
export function createFailure(message: string): ScriptFailure {
  const short = shortened(message);
  return { message: short, details: `${short}\n` };
}

function shortened(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`;
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
