import type { JsonValue } from '@krmhub/schema/definition';

/** Returns JSON as Go writes it with an indent of two: sorted keys, and no characters with a meaning in HTML. */
export function goJson(value: JsonValue): string {
  const text = JSON.stringify(sorted(value), undefined, 2);
  return `${text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key]!)]));
}
