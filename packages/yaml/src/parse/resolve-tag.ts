import { ResourceNode, STYLE } from '../nodes/node.js';
import type { Token } from './tokens.js';

export const LONG_TAG = 'tag:yaml.org,2002:';

const WORDS: ReadonlyMap<string, string> = new Map([
  ...['true', 'True', 'TRUE', 'false', 'False', 'FALSE'].map((word) => [word, '!!bool'] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, '!!null'] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, '!!float'] as const),
  ...['', '+', '-'].flatMap((sign) =>
    ['.inf', '.Inf', '.INF'].map((word) => [sign + word, '!!float'] as const),
  ),
]);

const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** What Go's ParseFloat accepts after a point. */
const POINT_FLOAT = /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/;
const INTEGER = /^([-+]?)(?:(0)|([1-9][0-9]*)|0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+))$/;

/**
 * The tag that go-yaml 3 finds for an unquoted scalar: the words of YAML 1.2, numbers also in the bases and with the
 * underscores of Go, and times.
 */
export function resolveTag(value: string): string {
  if (value === '') return '!!null';
  const first = value.charCodeAt(0);
  // A sign, a point or a digit.
  if (first >= 0x2b && first <= 0x39 && first !== 0x2c && first !== 0x2f) return resolveNumber(value, first);
  switch (first) {
    case 0x7e: // ~
    case 0x6e: // n
    case 0x4e: // N
    case 0x74: // t
    case 0x54: // T
    case 0x66: // f
    case 0x46: // F
      return value.length > 5 ? '!!str' : (WORDS.get(value) ?? '!!str');
    default:
      return '!!str';
  }
}

function resolveNumber(value: string, first: number): string {
  const word = WORDS.get(value);
  if (word !== undefined) return word;
  if (first === 0x2e) {
    return POINT_FLOAT.test(value) && Number.isFinite(Number(value)) ? '!!float' : '!!str';
  }
  if (value.length >= 8 && value.charCodeAt(4) === 0x2d && isTime(value)) return '!!timestamp';
  const plain = value.includes('_') ? value.replaceAll('_', '') : value;
  if (isInteger(plain)) return '!!int';
  return FLOAT.test(plain) && Number.isFinite(Number(plain)) ? '!!float' : '!!str';
}

/** Whether the number has 64 bits; a larger decimal number is a float. */
function isInteger(plain: string): boolean {
  const found = INTEGER.exec(plain);
  if (found === null) return /^0(?:b[-+][01]+|o[-+][0-7]+)$/.test(plain);
  if (plain.length < 16) return true;
  const [, sign, , decimal, hexadecimal, octal, binary] = found;
  if (decimal !== undefined && decimal.length > 20) return false;
  const digits = decimal ?? (hexadecimal ? `0x${hexadecimal}` : octal ? `0o${octal}` : `0b${binary}`);
  const value = BigInt(digits);
  if (sign === '-') return value <= 2n ** 63n;
  return value < (sign === '+' ? 2n ** 63n : 2n ** 64n);
}

/** Formats of Go's `time.Parse`: a date, or a date and a time, with short fields too. */
function isTime(text: string): boolean {
  const found =
    /^(\d{4})-(\d{1,2})-(\d{1,2})(?:([Tt ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(Z|[-+]\d\d:\d\d)?)?$/.exec(
      text,
    );
  if (found === null) return false;
  const [, year, month, day, separator, hour = '0', minute = '0', second = '0', zone] = found;
  // With a space there is no zone, and with a letter there has to be one.
  if (separator !== undefined && (separator === ' ') !== (zone === undefined)) return false;
  const [zoneHour, zoneMinute] =
    zone === undefined || zone === 'Z' ? [0, 0] : zone.slice(1).split(':').map(Number);
  const lastDay = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  return (
    Number(month) >= 1 &&
    Number(month) <= 12 &&
    Number(day) >= 1 &&
    Number(day) <= lastDay &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    zoneHour! <= 24 &&
    zoneMinute! < 60
  );
}

/** The node of a scalar, with its own tag or the one that go-yaml finds for it. */
export function scalarNode(token: Token, tag: string, row: number): ResourceNode {
  const { value, style } = token;
  let node: ResourceNode;
  if (tag !== '' && tag !== '!') {
    node = new ResourceNode('scalar', shortTag(tag), style | STYLE.tagged, value);
  } else if (style !== 0) node = new ResourceNode('scalar', '!!str', style, value);
  else node = new ResourceNode('scalar', value === '<<' ? '!!merge' : resolveTag(value), 0, value);
  node.row = row + 1;
  return node;
}

export function shortTag(tag: string): string {
  return tag.startsWith(LONG_TAG) ? `!!${tag.slice(LONG_TAG.length)}` : tag;
}
