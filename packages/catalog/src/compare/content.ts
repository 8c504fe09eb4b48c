import type { JsonValue } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';

/** Serializes a value independent of the order of fields. Unlike canonical JSON, it accepts any string. */
export function canonicalContent(value: JsonValue | undefined): string {
  return (
    JSON.stringify(value, (_, item: JsonValue) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => compareText(a, b)))
        : item,
    ) ?? ''
  );
}

/** Returns the items of `a` that are not in `b`, by content. */
export function difference(a: readonly JsonValue[], b: readonly JsonValue[]): JsonValue[] {
  const known = new Set(b.map(canonicalContent));
  return a.filter((value) => !known.has(canonicalContent(value)));
}

/**
 * Reports whether two values have the same content, independent of the order of fields. Undefined fields are absent.
 */
export function isSameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => isSameContent(item, b[index]))
    );
  }
  return (
    isWithin(a, b) &&
    Object.keys(b).every((name) => ownField(b, name) === undefined || ownField(a, name) !== undefined)
  );
}

function isWithin(a: object, b: object): boolean {
  return Object.entries(a).every(
    ([name, value]) => value === undefined || isSameContent(value, ownField(b, name)),
  );
}

function ownField(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
