import { compareText } from '@krmhub/schema/compare-text';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { isObject, objectField, textField } from '@krmhub/schema/json/access';
import { ID, LEGACY_ID } from '../resource-list/annotations.js';

/** Returns JSON text that is the same for equal values, whatever the order of their fields. */
export function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, part: JsonValue) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => compareText(a, b))) : part,
  );
}

/** As messages name a resource. */
export function resourceName(item: JsonObject): string {
  const metadata = objectField(item, 'metadata');
  const namespace = textField(metadata, 'namespace');
  const name = textField(metadata, 'name') ?? '';
  return `${textField(item, 'kind') ?? ''} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** Compares two outputs as sets. Returns the first difference, or undefined. */
export function setDifference(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
): string | undefined {
  if (before.length !== after.length) return `${before.length} resources became ${after.length}`;
  const [old, now] = [before.map(withoutId).sort(byText), after.map(withoutId).sort(byText)];
  const left = now.map(canonical);
  for (const item of old) {
    const at = left.indexOf(canonical(item));
    if (at !== -1) {
      left.splice(at, 1);
      continue;
    }
    const other = now.find(
      (one) => resourceName(one) === resourceName(item) && left.includes(canonical(one)),
    );
    if (other === undefined) return `${resourceName(item)} is missing`;
    return `${resourceName(item)} differs at ${firstDifference(item, other) ?? 'its root'}`;
  }
  return undefined;
}

/** Returns the path of the first value that differs, or undefined. */
export function firstDifference(before: JsonValue, after: JsonValue, path = ''): string | undefined {
  if (canonical(before) === canonical(after)) return undefined;
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const at = path === '' ? key : `${path}.${key}`;
      const [old, now] = [before[key], after[key]];
      if (old === undefined || now === undefined) return at;
      const found = firstDifference(old, now, at);
      if (found !== undefined) return found;
    }
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let at = 0; at < Math.min(before.length, after.length); at++) {
      const found = firstDifference(before[at]!, after[at]!, `${path}[${at}]`);
      if (found !== undefined) return found;
    }
  }
  return path;
}

/**
 * Returns the path of the first field that is before a field that it was after, or undefined. Items of lists are
 * compared by position; new and missing fields have no order.
 */
export function orderDifference(before: JsonValue, after: JsonValue, path = ''): string | undefined {
  if (isObject(before) && isObject(after)) {
    const common = Object.keys(before).filter((key) => Object.hasOwn(after, key));
    const now = Object.keys(after).filter((key) => Object.hasOwn(before, key));
    const moved = common.findIndex((key, at) => now[at] !== key);
    const at = (key: string) => (path === '' ? key : `${path}.${key}`);
    if (moved !== -1) return at(now[moved]!);
    for (const key of common) {
      const found = orderDifference(before[key]!, after[key]!, at(key));
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!Array.isArray(before) || !Array.isArray(after) || before.length !== after.length) return undefined;
  for (const [at, item] of before.entries()) {
    const found = orderDifference(item, after[at]!, `${path}[${at}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function byText(a: JsonObject, b: JsonObject): number {
  return canonical(a) < canonical(b) ? -1 : 1;
}

/** The id is of the position in the input. A function may remove annotations that it does not find. */
function withoutId(item: JsonObject): JsonObject {
  const metadata = objectField(item, 'metadata');
  const annotations = objectField(metadata, 'annotations');
  if (metadata === undefined || annotations === undefined) return item;
  const { [ID]: _, [LEGACY_ID]: __, ...kept } = annotations;
  return { ...item, metadata: { ...metadata, annotations: kept } };
}
