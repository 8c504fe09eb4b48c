import type { MethodBody } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { repr } from '../values/repr.js';
import { normalizeString } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import type { Kwargs, Value } from '../values/value.js';
import { allocateString, readString } from './byte-string.js';
import { displayed } from './strings.js';

/** The method `format`: `{}`, `{0}`, and `{name}`, each with `!s` or `!r`. Format specifications are not supported. */
export const formatMethod: MethodBody<string> = (thread, text, args, kwargs) => {
  readString(thread, text);
  const parts: string[] = [];
  const fields = new FieldReader(args, kwargs);
  for (let index = 0; ; ) {
    const found = text.indexOf('{', index);
    parts.push(literal(text.slice(index, found < 0 ? undefined : found)));
    if (found < 0) break;
    if (text[found + 1] === '{') {
      parts.push('{');
      index = found + 2;
      continue;
    }
    const end = text.indexOf('}', found);
    if (end < 0) throw new EvaluationError("format: unmatched '{' in format");
    parts.push(fields.replace(text.slice(found + 1, end), thread));
    index = end + 1;
  }
  allocateString(
    thread,
    parts.reduce((sum, part) => sum + part.length, 0),
  );
  return normalizeString(parts.join(''));
};

/** Replaces `}}` with `}`. */
function literal(text: string): string {
  if (!text.includes('}')) return text;
  if (/(?<!\})(?:\}\})*\}(?!\})/.test(text)) throw new EvaluationError("format: single '}' in format");
  return text.replaceAll('}}', '}');
}

/** Reads replacement fields, and counts those without a number. */
class FieldReader {
  private automatic = 0;
  private manual = false;

  constructor(
    private readonly args: readonly Value[],
    private readonly kwargs: Kwargs,
  ) {}

  /** Returns the text for a field: `name`, `name!conversion`, or either with `:specification`. */
  replace(field: string, thread: Thread): string {
    const mark = field.indexOf('!');
    const colon = field.indexOf(':', mark < 0 ? 0 : mark);
    const nameEnd = mark >= 0 ? mark : colon >= 0 ? colon : field.length;
    const conversion = mark < 0 ? 's' : field.slice(mark + 1, colon < 0 ? undefined : colon);
    const specification = colon < 0 ? '' : field.slice(colon + 1);
    if (this.kwargs.length > 8) thread.step(this.kwargs.length >> 3);
    const value = this.argument(field.slice(0, nameEnd));
    if (specification !== '') {
      const problem = 'format spec features not supported in replacement fields';
      throw new EvaluationError(`${problem}: ${specification}`);
    }
    if (conversion === 's') return displayed(value, thread);
    if (conversion === 'r') return repr(value, thread);
    throw new EvaluationError(`format: unknown conversion ${repr(conversion, thread)}`);
  }

  private argument(name: string): Value {
    if (name === '') {
      if (this.manual) {
        throw numberingError('manual field specification', 'automatic field numbering');
      }
      return this.positional(this.automatic++);
    }
    if (/^[0-9]+$/.test(name) && Number(name) < 2 ** 63) {
      if (this.automatic > 0) throw numberingError('automatic field numbering', 'manual field specification');
      this.manual = true;
      return this.positional(Number(name));
    }
    const found = this.kwargs.find(([key]) => key === name);
    if (found !== undefined) return found[1];
    throw new EvaluationError(`format: ${unknownField(name)}`);
  }

  private positional(index: number): Value {
    const value = this.args[index];
    if (value === undefined) throw new EvaluationError('format: tuple index out of range');
    return value;
  }
}

function numberingError(from: string, to: string): EvaluationError {
  return new EvaluationError(`format: cannot switch from ${from} to ${to}`);
}

function unknownField(name: string): string {
  if (name.includes('.')) return `attribute syntax x.y is not supported in replacement fields: ${name}`;
  if (name.includes('[')) return `element syntax a[i] is not supported in replacement fields: ${name}`;
  if (name.includes('{')) return 'nested replacement fields not supported';
  return `keyword ${name} not found`;
}
