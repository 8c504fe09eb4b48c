import type { JsonValue } from '@krmhub/schema';

/**
 * Plain data as YAML whose bytes depend on nothing but the data. A scalar stands plain only where every
 * reader, of YAML 1.1 or 1.2, gives back that string; anything else is a double-quoted JSON string.
 */

/** A mapping's key longer than this needs `? `: readers stop looking for its colon after 1,024 characters. */
const MAX_SIMPLE_KEY_LENGTH = 900;

/** Words that some reader takes for a boolean, null or number (YAML 1.1 "Language-Independent Types"). */
const AMBIGUOUS_WORD = /^(y|n|yes|no|on|off|true|false|null|nil|none|nan|inf|infinity)$/i;
const PLAIN_KEY = /^[A-Za-z][A-Za-z0-9._/-]*$/;
const PLAIN_VALUE = /^[A-Za-z][A-Za-z0-9 ._/:@+=(),;'-]*$/;
/** Controls, invisible and direction-changing characters, and what YAML calls not printable. */
const ESCAPED = /["\\\x00-\x1f\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff]/g;
const SHORT_ESCAPES: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const LONE_SURROGATE = /[\ud800-\udfff]/u;
/** Of a literal block: begins with a printable, has no line that ends in a space, and at most one line end last. */
const LITERAL = /^[^\s](?:.*[^\s])?(?:\n+(?:.*[^\s]))*\n?$/;

/**
 * A YAML document with a line end. Throws a TypeError for what YAML cannot say the same to every reader:
 * an unpaired surrogate, NaN or an infinity.
 */
export function toYaml(value: JsonValue): string {
  if (isBlock(value)) return blockLines(value, '').join('');
  return `${typeof value === 'string' ? string(value) : flow(value)}\n`;
}

/** Whether every reader of YAML and JSON can be given the string. */
export function isWritable(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** The value as an item of a block sequence whose dashes stand after `indent` spaces, with its line end. */
export function toYamlItem(value: JsonValue, indent: number): string {
  return blockLines([value], ' '.repeat(indent)).join('');
}
