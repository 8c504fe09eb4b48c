import { type FloatConversion, formatFloat } from '../text/float.js';
import { encodeRune, MAX_CODE_POINT, runeWidth } from '../text/utf8.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { type Int, isInt } from '../values/integer.js';
import { repr } from '../values/repr.js';
import { normalizeString } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { typeName, type Value } from '../values/value.js';
import { allocateString, fromByteString, readString, toByteString } from './byte-string.js';
import { numberToInt } from './numbers.js';
import { displayed } from './strings.js';

/** Returns `format % argument`. Flags, width, and precision are not supported, as in other implementations. */
export function formatPercent(thread: Thread, format: string, argument: Value): string {
  return new PercentFormatter(thread, format, argument).format();
}

class PercentFormatter {
  private readonly parts: string[] = [];
  private readonly positional: readonly Value[];
  private used = 0;
  private index = 0;

  constructor(
    private readonly thread: Thread,
    private readonly text: string,
    private readonly argument: Value,
  ) {
    this.positional = argument instanceof Tuple ? argument.items : [argument];
  }

  format(): string {
    readString(this.thread, this.text);
    for (;;) {
      const found = this.text.indexOf('%', this.index);
      this.parts.push(this.text.slice(this.index, found < 0 ? undefined : found));
      if (found < 0) break;
      this.index = found + 1;
      if (this.text[this.index] === '%') {
        this.index++;
        this.parts.push('%');
      } else {
        this.conversion();
      }
    }
    if (this.used < this.positional.length && !(this.argument instanceof Dict)) {
      throw new EvaluationError('too many arguments for format string');
    }
    allocateString(
      this.thread,
      this.parts.reduce((sum, part) => sum + part.length, 0),
    );
    return normalizeString(this.parts.join(''));
  }

  private conversion(): void {
    const argument = this.text[this.index] === '(' ? this.keyed() : this.next();
    const letter = String.fromCodePoint(this.text.codePointAt(this.index) ?? 0);
    if (this.index >= this.text.length) throw new EvaluationError('incomplete format');
    this.parts.push(convert(letter, argument, this.thread));
    this.index += letter.length;
    this.used++;
  }

  /** Reads `(name)`. */
  private keyed(): Value {
    const end = this.text.indexOf(')', this.index);
    if (end < 0) throw new EvaluationError('incomplete format key');
    const key = this.text.slice(this.index + 1, end);
    if (!(this.argument instanceof Dict)) throw new EvaluationError('format requires a mapping');
    const value = this.argument.get(key);
    if (value === undefined) throw new EvaluationError(`key not found: ${key}`);
    this.index = end + 1;
    return value;
  }

  private next(): Value {
    const value = this.positional[this.used];
    if (value === undefined) throw new EvaluationError('not enough arguments for format string');
    return value;
  }
}

function convert(letter: string, argument: Value, thread: Thread): string {
  switch (letter) {
    case 's':
      return displayed(argument, thread);
    case 'r':
      return repr(argument, thread);
    case 'd':
    case 'i':
    case 'o':
    case 'x':
    case 'X':
      return formatInt(letter, argument, thread);
    case 'e':
    case 'f':
    case 'g':
    case 'E':
    case 'F':
    case 'G':
      return formatFloat(toFloat(letter, argument), letter satisfies FloatConversion);
    case 'c':
      return character(argument);
    case '%':
      return '%';
    default:
      throw new EvaluationError(`unknown conversion %${letter}`);
  }
}

function formatInt(letter: string, argument: Value, thread: Thread): string {
  let int: Int;
  try {
    int = numberToInt(argument);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    throw new EvaluationError(`%${letter} format requires integer: ${error.message}`);
  }
  if (letter === 'd' || letter === 'i') return repr(int, thread);
  const digits = int.toString(letter === 'o' ? 8 : 16);
  return letter === 'X' ? digits.toUpperCase() : digits;
}

function toFloat(letter: string, argument: Value): number {
  if (argument instanceof StarlarkFloat) return argument.value;
  if (isInt(argument)) return Number(argument);
  throw new EvaluationError(`%${letter} format requires float, not ${typeName(argument)}`);
}

function character(argument: Value): string {
  if (isInt(argument)) {
    if (argument >= 0 && argument <= MAX_CODE_POINT) return fromByteString(encodeRune(Number(argument)));
    throw new EvaluationError(`%c format requires a valid Unicode code point, got ${argument}`);
  }
  if (typeof argument !== 'string') {
    const problem = `not ${typeName(argument)}`;
    throw new EvaluationError(`%c format requires int or single-character string, ${problem}`);
  }
  const bytes = toByteString(argument);
  if (bytes === '' || runeWidth(bytes, 0) !== bytes.length) {
    throw new EvaluationError('%c format requires a single-character string');
  }
  return argument;
}
