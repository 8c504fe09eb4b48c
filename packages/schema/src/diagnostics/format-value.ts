import type { JsonValue } from '../documents/definition.js';

const MAX_VALUE_LENGTH = 60;

/** Formats a value for a message. */
export function formatValue(value: JsonValue | undefined): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH - 1)}…` : text;
}
