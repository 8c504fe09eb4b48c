import type { JsonObject, JsonValue } from '@krmhub/schema';
import { formatValue } from '@krmhub/schema/diagnostics/format-value';
import { isSet, keyword } from '@krmhub/schema/json-schema/open-api';
import { canonicalContent, difference } from './content.js';
import { compareFlag, keywordLists, type NodeComparison } from './keywords.js';

/** Compares junctors, CEL rules, and list and map types of one schema. */
export function compareRestrictions(node: NodeComparison): void {
  const { field, report } = node;
  const embedded = 'x-kubernetes-embedded-resource';
  compareAllOf(node);
  compareNot(node);
  compareBranches(node, 'anyOf');
  compareBranches(node, 'oneOf');
  compareCel(node);
  compareListType(node);
  compareMapType(node);
  compareFlag(node, embedded, {
    added: () => report('embedded-resource-added', embedded, `${field} must be a complete resource`),
    removed: () => report('other-difference', undefined, `${field} no longer has to be a complete resource`),
  });
}

function compareAllOf(node: NodeComparison): void {
  const { field, report } = node;
  const [old = [], now = []] = keywordLists(node, 'allOf');
  if (difference(now, old).length > 0) {
    report('restriction-added', 'allOf', `${field} must satisfy a new branch of allOf`);
  }
  if (difference(old, now).length > 0) {
    report('restriction-dropped', undefined, `${field} no longer has to satisfy a branch of allOf`);
  }
}

function compareNot({ before, after, field, report }: NodeComparison): void {
  const old = keyword(before, 'not');
  const now = keyword(after, 'not');
  if (canonicalContent(old) === canonicalContent(now)) return;
  if (now === undefined) report('restriction-dropped', undefined, `"not" is removed from ${field}`);
  else
    report('restriction-added', 'not', `"not" is ${old === undefined ? 'added to' : 'changed in'} ${field}`);
}

function compareBranches({ before, after, field, report }: NodeComparison, name: 'anyOf' | 'oneOf') {
  const old = comparableBranches(before, name);
  const now = comparableBranches(after, name);
  if (old.length === 0 && now.length === 0) return;
  if (old.length === 0) {
    return report('restriction-added', name, `${field} must match ${requiredBranches(name)} of ${name}`);
  }
  if (now.length === 0) return report('restriction-dropped', undefined, `${field} no longer has ${name}`);
  if (difference(old, now).length > 0) {
    report('branch-removed', name, `a branch of ${name} in ${field} is removed or changed`);
  }
  // A duplicate branch in oneOf never matches exactly once.
  if (difference(now, old).length > 0 || (name === 'oneOf' && now.length > old.length)) {
    const rule = name === 'anyOf' ? 'any-of-branch-added' : 'one-of-branch-added';
    report(rule, name, `a branch of ${name} is added to ${field}`);
  }
}

function requiredBranches(name: 'anyOf' | 'oneOf'): string {
  return name === 'anyOf' ? 'at least one branch' : 'exactly one branch';
}

const INT_OR_STRING = canonicalContent([{ type: 'integer' }, { type: 'string' }]);

/** The anyOf of int-or-string only repeats it. */
function comparableBranches(schema: JsonObject, name: 'anyOf' | 'oneOf'): JsonValue[] {
  const branches = (keyword(schema, name) as JsonValue[] | undefined) ?? [];
  const says = name === 'anyOf' && isSet(schema, 'x-kubernetes-int-or-string');
  return says && canonicalContent(branches) === INT_OR_STRING ? [] : branches;
}

function compareCel(node: NodeComparison): void {
  const { field, report } = node;
  const name = 'x-kubernetes-validations';
  const [old, now] = keywordLists(node, name).map((rules) => (rules ?? []).map(celRule));
  const [added] = difference(now!, old!);
  const [removed] = difference(old!, now!);
  if (added !== undefined) {
    report('cel-rule-changed', name, `${field} must satisfy ${formatValue(added)}`);
  } else if (removed !== undefined) {
    report('restriction-dropped', undefined, `${field} no longer has to satisfy ${formatValue(removed)}`);
  }
}

/** Returns the rule without its message. */
function celRule(rule: JsonValue): JsonValue {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) return rule;
  const { message: _, messageExpression: __, reason: ___, fieldPath: ____, ...rest } = rule;
  return rest;
}

function compareListType(node: NodeComparison): void {
  const { before, after, field, report } = node;
  const [name, mapKeys] = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys'] as const;
  const old = keyword(before, name) ?? 'atomic';
  const now = keyword(after, name) ?? 'atomic';
  const [oldKeys, keys] = keywordLists(node, mapKeys);
  if (old !== now && now === 'atomic') {
    report('list-made-atomic', undefined, `the list type of ${field} changed from ${old} to atomic`);
  } else if (old !== now) {
    report('list-type-changed', name, `the list type of ${field} changed from ${old} to ${now}`);
  } else if (canonicalContent(oldKeys ?? []) !== canonicalContent(keys ?? [])) {
    report('list-type-changed', mapKeys, `the list map keys of ${field} changed to ${formatValue(keys)}`);
  }
}

function compareMapType({ before, after, field, report }: NodeComparison): void {
  const name = 'x-kubernetes-map-type';
  const old = keyword(before, name) ?? 'granular';
  const now = keyword(after, name) ?? 'granular';
  if (old !== now) report('map-type-changed', name, `the map type of ${field} changed from ${old} to ${now}`);
}
