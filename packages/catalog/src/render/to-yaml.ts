import type { JsonObject, JsonValue } from '@krmhub/schema';

/*
 * Deterministic YAML of plain data. A scalar is plain or a literal block only if every YAML 1.1 and 1.2 parser returns
 * the same string. Otherwise, it is double-quoted.
 */

/** Parsers search for the colon of a simple key only in 1,024 characters (YAML 1.2, "7.4.2. Flow Mappings"). */
const MAX_SIMPLE_KEY_LENGTH = 900;

/** Words that some parsers read as a boolean, null, or number. */
const AMBIGUOUS_WORD = /^(y|n|yes|no|on|off|true|false|null|nil|none|nan|inf|infinity)$/i;
/** Letters of the longest of them: most texts need no search. */
const LONGEST_AMBIGUOUS = 8;
const PLAIN_KEY = /^[A-Za-z][A-Za-z0-9._/-]*$/;
const PLAIN_TEXT = /^[A-Za-z][A-Za-z0-9 ._/:@+=(),;'-]*$/;
/** Control, invisible, and bidirectional characters, and characters that YAML calls not printable. */
const NOT_PRINTABLE =
  /[\x00-\x1f\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff]/;
const ESCAPED = new RegExp(`["\\\\]|${NOT_PRINTABLE.source}`, 'g');
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * Renders a value as a YAML document with a line break at the end. Throws a TypeError for values that not every parser
 * supports: a string with an unpaired surrogate, NaN, and infinities.
 */
export function toYaml(value: JsonValue): string {
  const lines: string[] = [];
  if (isBlock(value)) writeBlock(value, '', '', lines);
  else lines.push(typeof value === 'string' ? quoted(value) : scalar(value, ''), '\n');
  return lines.join('');
}

/** Renders a value as an item of a block sequence with its dash at `indent`, and a line break at the end. */
export function toYamlItem(value: JsonValue, indent: number): string {
  const lines: string[] = [];
  writeBlock([value], ' '.repeat(indent), ' '.repeat(indent), lines);
  return lines.join('');
}

/** Reports whether every parser supports a string: it has no unpaired surrogate. */
export function isWritable(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** `first` is the start of the first line, which can follow a dash. `indent` is the start of the others. */
function writeBlock(value: JsonValue[] | JsonObject, indent: string, first: string, lines: string[]): void {
  let prefix = first;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (isBlock(item)) writeBlock(item, `${indent}  `, `${prefix}- `, lines);
      else lines.push(`${prefix}- ${scalar(item, indent)}\n`);
      prefix = indent;
    }
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    const written = key(name);
    const simple = written.length <= MAX_SIMPLE_KEY_LENGTH;
    const head = simple ? `${prefix}${written}:` : `${prefix}? ${written}\n${indent}:`;
    if (isBlock(item)) {
      // As in Kubernetes tools, a list has the indentation of its key.
      const inner = Array.isArray(item) && simple ? indent : `${indent}  `;
      lines.push(`${head}\n`);
      writeBlock(item, inner, inner, lines);
    } else {
      lines.push(`${head} ${scalar(item, indent)}\n`);
    }
    prefix = indent;
  }
}

function isBlock(value: JsonValue): value is JsonValue[] | JsonObject {
  if (value === null || typeof value !== 'object') return false;
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

/** Renders a scalar or an empty collection. `indent` is that of the surrounding collection. */
function scalar(value: JsonValue, indent: string): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return text(value, indent);
  if (typeof value === 'number') return number(value);
  if (typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? '[]' : '{}';
}

function number(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} cannot be written`);
  // JSON has no negative zero. An integer above the exact range of a double is written as a float, because parsers do
  // not keep it as an integer. YAML 1.1 requires a point in a number with an exponent.
  const float = Number.isInteger(value) && !Number.isSafeInteger(value);
  const written = float ? value.toExponential() : String(value === 0 ? 0 : value);
  return /^-?\d+e/.test(written) ? written.replace('e', '.0e') : written;
}

function key(name: string): string {
  return PLAIN_KEY.test(name) && !isAmbiguous(name) ? name : quoted(name);
}

function isAmbiguous(text: string): boolean {
  return text.length <= LONGEST_AMBIGUOUS && AMBIGUOUS_WORD.test(text);
}

function text(value: string, indent: string): string {
  if (isPlain(value)) return value;
  return isLiteral(value) ? literal(value, `${indent}  `) : quoted(value);
}

function isPlain(value: string): boolean {
  return (
    PLAIN_TEXT.test(value) &&
    !isAmbiguous(value) &&
    !value.includes(': ') &&
    !value.endsWith(':') &&
    !value.endsWith(' ')
  );
}

function quoted(value: string): string {
  if (!isWritable(value)) throw new TypeError('cannot write a string with an unpaired surrogate');
  return `"${value.replace(ESCAPED, escaped)}"`;
}

function escaped(character: string): string {
  return SHORT_ESCAPES.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Reports whether a literal block keeps lines exactly: no line ends in a space, and at most one line break is at the
 * end.
 */
function isLiteral(value: string): boolean {
  if (!value.includes('\n') || !isWritable(value)) return false;
  const lines = withoutLastLineEnd(value).split('\n');
  if (/^(\s|$)/.test(lines[0]!) || lines.at(-1) === '') return false;
  return lines.every((line) => !/\s$/.test(line) && !NOT_PRINTABLE.test(line));
}

function literal(value: string, indent: string): string {
  const lines = withoutLastLineEnd(value).split('\n');
  const body = lines.map((line) => (line === '' ? '' : indent + line)).join('\n');
  return `${value.endsWith('\n') ? '|' : '|-'}\n${body}`;
}

function withoutLastLineEnd(value: string): string {
  return value.endsWith('\n') ? value.slice(0, -1) : value;
}
