import type { JsonValue } from '../documents/definition.js';
import { quote } from './quote.js';

/** Names a value in the words of YAML, for messages about a value of the wrong type. */
export function describeValue(value: JsonValue): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? `the string ${quote(value)}` : `the ${typeof value} ${String(value)}`;
}

/** As `describeValue`, without the value itself, which can be secret. */
export function describeType(value: JsonValue): string {
  if (typeof value === 'object') return describeValue(value);
  return `a ${typeof value}`;
}
