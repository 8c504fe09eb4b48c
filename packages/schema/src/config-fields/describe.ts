/**
 * Describes and checks functionConfigs by the schema of their API version, and generates examples.
 *
 * @module
 */

import { defined } from '../defined.js';
import { formatPath } from '../diagnostics/diagnostic.js';
import type { FunctionDefinition } from '../documents/definition.js';
import { versionNamed } from '../json-schema/function-config.js';
import { describeType, elementType } from './describe-type.js';
import { type ConfigRule, describeRules, findDefault, findDescription, isDeprecated } from './rules.js';
import {
  declaredFields,
  expandAllOf,
  innerSchemas,
  isAnySet,
  isOpen,
  requiredFields,
  type SchemaParts,
  valueType,
} from './schema-parts.js';
import { TextBudget } from './text-budget.js';

/** A description of the fields of a functionConfig for one API version. */
export interface ConfigDescription extends ConfigFields {
  apiVersion: string;
  kind: string;
  description?: string;
  /** The rules for the whole functionConfig. */
  rules: ConfigRule[];
  /** Whether the description is complete. Otherwise, the schema has more. */
  complete: boolean;
}

interface ConfigFields {
  /** Required fields first, then in the order of the schema. */
  fields: ConfigField[];
  /** The number of declared fields that are not in `fields`, without nested fields. */
  omitted: number;
}

export interface ConfigField extends ConfigFields {
  /** The name as in the file, or `<key>` for any name. */
  name: string;
  /** A unique path, such as `spec.ports[].name`. */
  path: string;
  /** The type in words, such as `list of string`. */
  type: string;
  required: boolean;
  deprecated: boolean;
  nullable: boolean;
  description?: string;
  /** The default as YAML on one line. */
  default?: string;
  rules: ConfigRule[];
  /** The rules for items and values inside, outer levels first. */
  elements: ConfigElement[];
}

export interface ConfigElement {
  /** The level, such as `each item` or `each value of each item`. */
  label: string;
  description?: string;
  rules: ConfigRule[];
}

/** Maximum number of fields. A page with this number has about 40 KB. */
const MAX_FIELDS = 400;
const MAX_DEPTH = 12;
/** Maximum number of characters of all texts. */
const MAX_TEXT = 80_000;
const MAX_DESCRIPTION = 2_000;
const MAX_NAME = 200;
const MAX_PATH = 240;
const MAX_DEFAULT = 400;
/** Fields that are the same in every functionConfig. */
const IDENTITY_FIELDS = ['apiVersion', 'kind'];

/** A value with fields that are not described yet. */
interface PendingFields {
  into: ConfigFields;
  parts: SchemaParts;
  path: string;
  depth: number;
}

/**
 * Describes the fields of the functionConfig of an API version. For a schema that is too large or too deep, it
 * describes the outer fields and counts the others. Throws a `not-found` KrmhubError for an unknown API version.
 */
export function describeConfig(definition: FunctionDefinition, versionName: string): ConfigDescription {
  const version = versionNamed(definition, versionName);
  const budget = new TextBudget(MAX_TEXT);
  const { parts, complete } = expandAllOf([version.schema.openAPIV3Schema]);
  const description = findDescription(parts);
  const root: ConfigDescription = {
    apiVersion: `${definition.group}/${versionName}`,
    kind: definition.names.kind,
    ...defined({
      description: description === undefined ? undefined : budget.take(description, MAX_DESCRIPTION),
    }),
    rules: objectRules(parts, budget, complete, true),
    complete: true,
    fields: [],
    omitted: 0,
  };
  // Level by level, so that a large field does not displace its siblings.
  const rest: PendingFields[] = [{ into: root, parts, path: '', depth: 1 }];
  let count = 0;
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    for (const { name, path, parts: said, required } of listFields(next, next.into === root)) {
      if (count >= MAX_FIELDS || next.depth > MAX_DEPTH) {
        next.into.omitted++;
        root.complete = false;
        continue;
      }
      count++;
      const unique = path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}…~${count}`;
      const { field, inner } = describeField(name, unique, said, required, budget);
      next.into.fields.push(field);
      rest.push({ into: field, parts: inner.parts, path: inner.path, depth: next.depth + 1 });
    }
  }
  if (budget.truncated) root.complete = false;
  return root;
}

interface DeclaredField {
  name: string;
  path: string;
  parts: SchemaParts;
  required: boolean;
}

/** Describes the fields of a value, required fields first, then the rules for other fields. */
function listFields({ parts, path }: PendingFields, atRoot: boolean): DeclaredField[] {
  const required = requiredFields(parts);
  const fields = [...declaredFields(parts)]
    .filter(([name, said]) => !(atRoot && (IDENTITY_FIELDS.includes(name) || isUnrestricted(name, said))))
    .map(([name, said]) => ({
      name,
      path: childPath(path, name),
      parts: said,
      required: required.has(name),
    }));
  const others = fields.length > 0 ? innerSchemas(parts, 'additionalProperties') : undefined;
  return [
    ...fields.filter((field) => field.required),
    ...fields.filter((field) => !field.required),
    ...(others === undefined
      ? []
      : [{ name: '<key>', path: `${path}.<key>`, parts: others, required: false }]),
  ];
}

/** Reports whether a field is `metadata` without restrictions, which needs no description. */
function isUnrestricted(name: string, said: SchemaParts): boolean {
  return (
    name === 'metadata' &&
    said.every((part) => Object.keys(part).every((key) => key === 'type' || key === 'description'))
  );
}

function childPath(path: string, name: string): string {
  const formatted = formatPath([name]);
  return path === '' || formatted.startsWith('[') ? `${path}${formatted}` : `${path}.${formatted}`;
}

/** Describes a field, and returns the innermost value in its lists and maps. */
function describeField(
  name: string,
  path: string,
  said: SchemaParts,
  required: boolean,
  budget: TextBudget,
): { field: ConfigField; inner: { parts: SchemaParts; path: string } } {
  const { parts, complete } = expandAllOf(said);
  const description = findDescription(parts);
  const fallback = findDefault(parts);
  const field: ConfigField = {
    name: budget.take(name, MAX_NAME),
    path,
    type: budget.take(describeType(parts), MAX_NAME),
    required,
    deprecated: isDeprecated(parts),
    nullable: isAnySet(parts, 'nullable'),
    ...defined({
      description: description === undefined ? undefined : budget.take(description, MAX_DESCRIPTION),
      default: fallback === undefined ? undefined : budget.value(fallback, MAX_DEFAULT),
    }),
    rules: objectRules(parts, budget, complete, false),
    elements: [],
    fields: [],
    omitted: 0,
  };
  let inner = { parts, path };
  let of = '';
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const element = elementType(inner.parts);
    if (element === undefined) break;
    const whole = expandAllOf(element.parts);
    of = of === '' ? element.label : `${element.label} of ${of}`;
    inner = { parts: whole.parts, path: `${inner.path}${element.step}` };
    const said = findDescription(whole.parts);
    const rules = objectRules(whole.parts, budget, whole.complete, false);
    const value = findDefault(whole.parts);
    if (value !== undefined)
      rules.unshift({ text: 'default', values: [budget.value(value, MAX_DEFAULT)], more: 0 });
    if (isAnySet(whole.parts, 'nullable')) rules.push({ text: 'may be null', values: [], more: 0 });
    if (said === undefined && rules.length === 0) continue;
    field.elements.push({
      label: of,
      ...defined({ description: said === undefined ? undefined : budget.take(said, MAX_DESCRIPTION) }),
      rules,
    });
  }
  return { field, inner };
}

/** Returns the rules of a value, and for an object the rules for undeclared fields. */
function objectRules(
  parts: SchemaParts,
  budget: TextBudget,
  complete: boolean,
  atRoot: boolean,
): ConfigRule[] {
  const rules = describeRules(parts, budget, !complete || (atRoot && restrictsIdentity(parts)));
  const fields = declaredFields(parts);
  const undeclared = [...requiredFields(parts)].filter(
    (name) => !fields.has(name) && !(atRoot && isResourceField(name)),
  );
  if (undeclared.length > 0) {
    const values = undeclared.slice(0, 40).map((name) => budget.value(name, MAX_NAME));
    rules.unshift({ text: 'must have', values, more: undeclared.length - values.length });
  }
  const object =
    valueType(parts) === 'object' &&
    (fields.size > 0 || isAnySet(parts, 'x-kubernetes-preserve-unknown-fields'));
  if (object && isOpen(parts))
    rules.push({ text: fields.size > 0 ? 'any other fields' : 'any fields', values: [], more: 0 });
  return rules;
}

function isResourceField(name: string): boolean {
  return name === 'metadata' || IDENTITY_FIELDS.includes(name);
}

/** Reports whether a schema restricts apiVersion or kind more than to strings. */
function restrictsIdentity(parts: SchemaParts): boolean {
  const fields = declaredFields(parts);
  return IDENTITY_FIELDS.some((name) =>
    fields
      .get(name)
      ?.some((part) => Object.keys(part).some((key) => key !== 'type' && key !== 'description')),
  );
}
