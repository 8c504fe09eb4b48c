import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { keyword, OPEN_API_TYPES, requiredProperties } from '../json-schema/open-api.js';

/** The restrictions of an `anyOf`, `oneOf`, or `not` that can be described in words. */
export interface Choice {
  text: string;
  values: JsonValue[];
}

/** Returns undefined for unsupported keywords, and an empty list if there is nothing more to describe. */
export function describeChoices(schema: JsonObject): Choice[] | undefined {
  const choices: Choice[] = [];
  for (const name of ['anyOf', 'oneOf'] as const) {
    const branches = keyword(schema, name) as JsonValue[] | undefined;
    if (branches === undefined || branches.length === 0) continue;
    if (branchTypes(branches) !== undefined) {
      if (keyword(schema, 'type') !== undefined) return undefined;
      continue;
    }
    const choice = describeBranches(branches, name);
    if (choice === undefined) return undefined;
    choices.push(choice);
  }
  const negated = keyword(schema, 'not');
  if (negated !== undefined) {
    const choice = describeNegation(negated as JsonObject);
    if (choice === undefined) return undefined;
    choices.push(choice);
  }
  return choices;
}

/** Returns the types in branches that contain only a type, as in int-or-string. */
export function branchTypes(branches: readonly JsonValue[]): string[] | undefined {
  const types: string[] = [];
  for (const branch of branches) {
    const type = isObject(branch) && hasOnly(branch, ['type']) ? keyword(branch, 'type') : undefined;
    if (typeof type !== 'string' || !(OPEN_API_TYPES as readonly string[]).includes(type)) return undefined;
    types.push(type);
  }
  return types;
}

function describeBranches(branches: readonly JsonValue[], name: 'anyOf' | 'oneOf'): Choice | undefined {
  const sets = branches.map(onlyRequired);
  if (sets.every((names) => names !== undefined)) {
    const words = name === 'oneOf' ? 'exactly one of' : 'at least one of';
    return sets.every(({ length }) => length === 1)
      ? { text: words, values: sets.flat() }
      : { text: `${words} these sets`, values: sets.map((names) => names.join(' + ')) };
  }
  return name === 'oneOf' ? describeAtMostOne(branches) : undefined;
}

/** Returns the names of a `oneOf` with one required name per branch, and a branch without any of them. */
function describeAtMostOne(branches: readonly JsonValue[]): Choice | undefined {
  const without = branches.flatMap((branch) => {
    const negated = isObject(branch) && hasOnly(branch, ['not']) ? keyword(branch, 'not') : undefined;
    return isObject(negated) ? [negated] : [];
  });
  const names = branches.flatMap((branch) => onlyRequired(branch) ?? []);
  const none = without.length === 1 ? requiredByAnyBranch(without[0]!) : undefined;
  const matches =
    none !== undefined &&
    names.length === branches.length - 1 &&
    none.length === names.length &&
    names.every((each) => none.includes(each));
  return matches ? { text: 'at most one of', values: names } : undefined;
}

function describeNegation(negated: JsonObject): Choice | undefined {
  const required = onlyRequired(negated);
  if (required !== undefined) {
    return { text: required.length === 1 ? 'without' : 'never all of', values: required };
  }
  const any = requiredByAnyBranch(negated);
  if (any !== undefined) return { text: 'without any of', values: any };
  const values = keyword(negated, 'enum');
  if (Array.isArray(values) && hasOnly(negated, ['enum'])) return { text: 'none of', values };
  const pattern = keyword(negated, 'pattern');
  if (typeof pattern === 'string' && hasOnly(negated, ['pattern'])) {
    return { text: 'does not match', values: [pattern] };
  }
  return undefined;
}

/** Returns the names in `anyOf: [{required: [a]}, {required: [b]}]`. */
function requiredByAnyBranch(schema: JsonObject): string[] | undefined {
  const branches = hasOnly(schema, ['anyOf']) ? keyword(schema, 'anyOf') : undefined;
  if (!Array.isArray(branches) || branches.length === 0) return undefined;
  const names = branches.map(onlyRequired);
  return names.every((each) => each?.length === 1) ? names.flatMap((each) => each!) : undefined;
}

/** Returns the names that a schema requires if it contains nothing else. */
function onlyRequired(branch: JsonValue): string[] | undefined {
  if (!isObject(branch) || !hasOnly(branch, ['required'])) return undefined;
  const names = requiredProperties(branch);
  return names.length > 0 ? names : undefined;
}

function hasOnly(schema: JsonObject, names: readonly string[]): boolean {
  return Object.keys(schema).every((name) => names.includes(name) || schema[name] === null);
}
