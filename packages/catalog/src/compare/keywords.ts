import type { JsonObject, JsonValue } from '@krmhub/schema';
import { formatValue } from '@krmhub/schema/diagnostics/format-value';
import { isSet, keyword, type OpenApiKeyword } from '@krmhub/schema/json-schema/open-api';
import { canonicalContent, difference } from './content.js';
import type { CompatibilityRule } from './rules.js';

/** One schema before and after a change. */
export interface NodeComparison {
  before: JsonObject;
  after: JsonObject;
  /** The name of the field in messages. */
  field: string;
  /** Receives a change. `keyword` is the changed keyword. */
  report(rule: CompatibilityRule, keyword: string | undefined, message: string): void;
}

/**
 * Formats that Kubernetes validates (apiextensions-apiserver, supportedVersionedFormats) or uses to convert numbers.
 */
const KNOWN_FORMATS = new Set(
  (
    'bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn ' +
    'hexcolor rgbcolor byte password date duration date-time datetime int32 int64 float double ' +
    'k8s-short-name k8s-long-name'
  ).split(' '),
);

const COUNTS = ['Length', 'Items', 'Properties'] as const;

/** Compares enum, pattern, format, bounds, null, and default of one schema. */
export function compareValues(node: NodeComparison): void {
  const { field, report } = node;
  compareEnum(node);
  comparePattern(node);
  compareFormat(node);
  compareRange(node, 'minimum', 'exclusiveMinimum', -1);
  compareRange(node, 'maximum', 'exclusiveMaximum', 1);
  for (const count of COUNTS) {
    compareCount(node, `min${count}`, -1);
    compareCount(node, `max${count}`, 1);
  }
  compareStep(node);
  compareFlag(node, 'nullable', {
    added: () => report('nullable-added', 'nullable', `${field} can now be null`),
    removed: () => report('nullable-removed', undefined, `${field} can no longer be null`),
  });
  compareDefault(node);
}

/** Reports a changed flag. */
export function compareFlag(
  { before, after }: NodeComparison,
  name: OpenApiKeyword,
  tell: { added: () => void; removed: () => void },
): void {
  if (isSet(before, name) === isSet(after, name)) return;
  if (isSet(after, name)) tell.added();
  else tell.removed();
}

function compareEnum(node: NodeComparison) {
  const { field, report } = node;
  const [old, now] = keywordLists(node, 'enum');
  if (old === undefined && now === undefined) return;
  if (old === undefined) return report('enum-narrowed', 'enum', `${field} accepts only ${formatList(now!)}`);
  if (now === undefined)
    return report('enum-widened', undefined, `${field} accepts any value: the enum is removed`);
  const removed = difference(old, now);
  const added = difference(now, old);
  if (removed.length > 0)
    report('enum-narrowed', 'enum', `${field} no longer accepts ${formatList(removed)}`);
  if (added.length > 0) report('enum-widened', 'enum', `${field} also accepts ${formatList(added)}`);
}

function comparePattern(node: NodeComparison): void {
  const { field, report } = node;
  const [old, now] = keywordValues(node, 'pattern');
  if (old === now) return;
  if (now === undefined)
    report('pattern-dropped', undefined, `${field} no longer has to match ${formatValue(old)}`);
  else report('pattern-changed', 'pattern', `${field} must match ${formatValue(now)}${previousText(old)}`);
}

function compareFormat(node: NodeComparison): void {
  const { field, report } = node;
  const [old, now] = keywordValues(node, 'format');
  if (old === now) return;
  if (now === undefined) {
    report('other-difference', undefined, `${field} no longer has the format ${formatValue(old)}`);
  } else {
    const known = KNOWN_FORMATS.has(String(now));
    const lost = old !== undefined && KNOWN_FORMATS.has(String(old));
    const rule = known ? 'format-added' : lost ? 'other-difference' : 'unknown-format-added';
    report(rule, 'format', `${field} has the format ${formatValue(now)}${previousText(old)}`);
  }
}

/** `direction` is 1 for a maximum, which a smaller number tightens. */
function compareRange(
  node: NodeComparison,
  bound: 'minimum' | 'maximum',
  exclusive: 'exclusiveMinimum' | 'exclusiveMaximum',
  direction: 1 | -1,
) {
  const { before, after, field, report } = node;
  const [old, now] = keywordValues(node, bound) as [number?, number?];
  // `exclusive` has no meaning without a bound.
  const wasExclusive = old !== undefined && isSet(before, exclusive);
  const isExclusive = now !== undefined && isSet(after, exclusive);
  if (old === now && wasExclusive === isExclusive) return;
  if (now === undefined) return report('bound-loosened', undefined, `${field} no longer has ${bound}`);
  const tighter =
    old === undefined || (old - now) * direction > 0 || (old === now && isExclusive && !wasExclusive);
  const shown = (value: number, flag: boolean) => `${value}${flag ? ' (exclusive)' : ''}`;
  const was = old === undefined ? '' : `; it was ${shown(old, wasExclusive)}`;
  const message = `${field} has the ${bound} ${shown(now, isExclusive)}${was}`;
  report(tighter ? 'bound-tightened' : 'bound-loosened', bound, message);
}

function compareCount(
  node: NodeComparison,
  name: `${'min' | 'max'}${(typeof COUNTS)[number]}`,
  direction: 1 | -1,
) {
  const { field, report } = node;
  const [old, now] = keywordValues(node, name) as [number?, number?];
  if (old === now) return;
  if (now === undefined) return report('bound-loosened', undefined, `${field} no longer has ${name}`);
  // A minimum of 0 is not a restriction.
  const floor = direction === -1 ? (old ?? 0) : old;
  const tighter = floor === undefined || (floor - now) * direction > 0;
  const was = old === undefined ? '' : `; it was ${old}`;
  report(tighter ? 'bound-tightened' : 'bound-loosened', name, `${field} has the ${name} ${now}${was}`);
}

function compareStep(node: NodeComparison) {
  const { field, report } = node;
  const [old, now] = keywordValues(node, 'multipleOf') as [number?, number?];
  if (old === now) return;
  if (now === undefined) {
    return report('bound-loosened', undefined, `${field} no longer has to be a multiple of ${old}`);
  }
  const rule = old !== undefined && isMultiple(old, now) ? 'bound-loosened' : 'bound-tightened';
  report(rule, 'multipleOf', `${field} must be a multiple of ${now}${previousText(old)}`);
}

/** Reports whether every multiple of `value` is a multiple of `step`. Decimal fractions are not exact. */
function isMultiple(value: number, step: number): boolean {
  const ratio = value / step;
  return Number.isFinite(ratio) && Math.abs(ratio - Math.round(ratio)) < 1e-9 && Math.round(ratio) !== 0;
}

function compareDefault(node: NodeComparison): void {
  const { field, report } = node;
  const [old, now] = keywordValues(node, 'default');
  if (canonicalContent(old) === canonicalContent(now)) return;
  if (old === undefined) {
    report('default-added', 'default', `${field} now defaults to ${formatValue(now)}`);
  } else if (now === undefined) {
    report('default-changed', undefined, `${field} no longer defaults to ${formatValue(old)}`);
  } else {
    report('default-changed', 'default', `${field} now defaults to ${formatValue(now)}${previousText(old)}`);
  }
}

/** The old and the new value of a keyword; undefined if it is absent or of the wrong type. */
type OldAndNew<Value> = [old: Value | undefined, now: Value | undefined];

function keywordValues({ before, after }: NodeComparison, name: OpenApiKeyword): OldAndNew<JsonValue> {
  return [keyword(before, name), keyword(after, name)];
}

export function keywordLists(node: NodeComparison, name: OpenApiKeyword): OldAndNew<JsonValue[]> {
  return keywordValues(node, name) as OldAndNew<JsonValue[]>;
}

function previousText(old: JsonValue | undefined): string {
  return old === undefined ? '' : `, not ${formatValue(old)}`;
}

const MAX_LISTED = 5;

function formatList(values: readonly JsonValue[]): string {
  const names = values.slice(0, MAX_LISTED).map(formatValue).join(', ');
  return values.length > MAX_LISTED ? `${names} and ${values.length - MAX_LISTED} more` : names;
}
