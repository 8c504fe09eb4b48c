import { DOCUMENT_LIMITS, type JsonObject, type JsonValue, type Path } from '@krmhub/schema';
import {
  isKeywordValue,
  isSet,
  keyword,
  OPEN_API_KEYWORDS,
  type OpenApiKeyword,
  requiredProperties,
  schemaProperties,
  schemaType,
  subschema,
} from '@krmhub/schema/json-schema/open-api';
import { canonicalContent } from './content.js';
import { DOCUMENTATION, declaresNothing, withImplicitFields } from './implicit-fields.js';
import { compareValues, type NodeReport } from './keywords.js';
import { compareRestrictions } from './restrictions.js';
import type { Report } from './rules.js';

/** Maximum number of compared nested schemas. A larger schema is reported. */
const MAX_NODES = 20_000;

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
/** Keywords that are compared by meaning. Others are compared for equality. */
const COMPARED_KEYWORDS = new Set<string>([
  ...DOCUMENTATION,
  ...'type format pattern default maximum minimum multipleOf exclusiveMaximum exclusiveMinimum'.split(' '),
  ...'maxLength minLength maxItems minItems maxProperties minProperties nullable enum required'.split(' '),
  ...'items not allOf anyOf oneOf properties additionalProperties'.split(' '),
  ...Object.keys(OPEN_API_KEYWORDS).filter((name) => name.startsWith('x-kubernetes-')),
]);

/** Reports every change between two schemas of a functionConfig. `at` is the position of the new one. */
export function compareSchemas(before: JsonObject, after: JsonObject, at: Path, report: Report): void {
  if (canonicalContent(before) === canonicalContent(after)) return;
  if (declaresNothing(before) && !declaresNothing(after)) {
    // Not listed in detail: each change would be breaking, but the old schema described no files.
    report(
      'schema-declared',
      at,
      'the schema now restricts the functionConfig; it declared no fields before',
    );
    return;
  }
  new Comparison(report).compare(withImplicitFields(before), withImplicitFields(after), at, '', 0);
}

class Comparison {
  private nodes = 0;

  constructor(private readonly report: Report) {}

  compare(before: JsonObject, after: JsonObject, at: Path, field: string, depth: number): void {
    if (this.nodes >= MAX_NODES) return;
    if (++this.nodes === MAX_NODES || depth > DOCUMENT_LIMITS.maxDepth) {
      this.report(
        'not-compared',
        at,
        `the schema is too large or too deep: ${fieldLabel(field)} and the rest are not compared`,
      );
      return;
    }
    const tell: NodeReport = (rule, name, message) =>
      this.report(rule, name === undefined ? at : [...at, name], message);
    if (DOCUMENTATION.some((name) => canonicalContent(before[name]) !== canonicalContent(after[name]))) {
      tell('documentation-changed', undefined, `the documentation of ${fieldLabel(field)} changed`);
    }
    if (!compareTypes(before, after, fieldLabel(field), tell)) return;
    compareValues(before, after, fieldLabel(field), tell);
    compareRestrictions(before, after, fieldLabel(field), tell);
    compareOtherKeywords(before, after, fieldLabel(field), tell);
    this.compareFields(before, after, at, field, depth, tell);
    this.compareItems(before, after, at, field, depth, tell);
  }

  private compareFields(
    before: JsonObject,
    after: JsonObject,
    at: Path,
    field: string,
    depth: number,
    tell: NodeReport,
  ): void {
    const was = openness(before);
    const is = openness(after);
    if (was !== is) {
      const named = fieldLabel(field);
      if (isSet(before, PRESERVE) && !isSet(after, PRESERVE)) {
        tell('preserve-unknown-removed', undefined, `${named} no longer preserves unknown fields`);
      } else if (OPENNESS.indexOf(is) < OPENNESS.indexOf(was)) {
        const now = is === 'map' ? 'values of one schema' : 'declared fields';
        tell('closed', undefined, `${named} now accepts only ${now}; it accepted any field before`);
      } else tell('opened', undefined, `${named} now accepts undeclared fields`);
    }
    const values = subschema(after, 'additionalProperties');
    const oldValues = subschema(before, 'additionalProperties');
    if (values !== undefined && oldValues !== undefined) {
      this.compare(oldValues, values, [...at, 'additionalProperties'], joinPath(field, '*'), depth + 1);
    }
    // If the object was open and is now closed, its declared fields are not additions.
    this.compareProperties(before, after, at, field, depth, was !== 'closed' && is !== 'closed');
  }

  private compareProperties(
    before: JsonObject,
    after: JsonObject,
    at: Path,
    field: string,
    depth: number,
    open: boolean,
  ): void {
    const old = schemaProperties(before);
    const now = schemaProperties(after);
    const needed = new Set(requiredProperties(after));
    const wasNeeded = new Set(requiredProperties(before));
    const place = Object.keys(now).length > 0 ? [...at, 'properties'] : at;
    for (const name of Object.keys(old)) {
      if (Object.hasOwn(now, name)) continue;
      this.report('property-removed', place, `${joinPath(field, name)} is removed`);
    }
    for (const [name, value] of Object.entries(now)) {
      const child = [...at, 'properties', name];
      const named = joinPath(field, name);
      const schema = asSchema(value);
      if (Object.hasOwn(old, name)) {
        this.compare(asSchema(old[name]), schema, child, named, depth + 1);
      } else if (!needed.has(name)) {
        if (open) {
          const message = `${named} is now declared; any field was accepted before`;
          this.report('property-added-to-open', child, message);
        } else if (keyword(schema, 'default') !== undefined) {
          this.report('property-added-with-default', child, `${named} is added, with a default`);
        } else this.report('property-added', child, `${named} is added`);
      }
    }
    for (const name of needed) {
      if (wasNeeded.has(name)) continue;
      const named = joinPath(field, name);
      const isNew = Object.hasOwn(now, name) && !Object.hasOwn(old, name);
      if (isNew) {
        this.report('required-property-added', [...at, 'properties', name], `${named} is added and required`);
      } else this.report('property-required', [...at, 'required'], `${named} is now required`);
    }
    for (const name of wasNeeded) {
      if (needed.has(name) || !Object.hasOwn(now, name)) continue;
      this.report(
        'property-optional',
        [...at, 'properties', name],
        `${joinPath(field, name)} is now optional`,
      );
    }
  }

  private compareItems(
    before: JsonObject,
    after: JsonObject,
    at: Path,
    field: string,
    depth: number,
    tell: NodeReport,
  ): void {
    const old = subschema(before, 'items');
    const now = subschema(after, 'items');
    if (old !== undefined && now !== undefined) {
      this.compare(old, now, [...at, 'items'], `${field}[*]`, depth + 1);
    } else if (old !== undefined || now !== undefined) {
      tell(
        'other-difference',
        now && 'items',
        `the schema of the items of ${fieldLabel(field)} is ${now ? 'added' : 'removed'}`,
      );
    }
  }
}

/** Returns false if the types differ, so that nothing else can be compared. */
function compareTypes(before: JsonObject, after: JsonObject, field: string, tell: NodeReport): boolean {
  const was = typeName(before);
  const is = typeName(after);
  if (was === is) return true;
  if (is === 'int-or-string' && (was === 'integer' || was === 'string')) {
    tell('int-or-string-allowed', undefined, `the type of ${field} changed from ${was} to integer or string`);
    return true;
  }
  if (was === 'integer' && is === 'number') {
    tell('integer-to-number', 'type', `the type of ${field} changed from integer to number`);
    return true;
  }
  if (was === 'any' && isSet(before, PRESERVE)) {
    tell('preserve-unknown-removed', 'type', `the type of ${field} changed from any to ${is}`);
  } else if (is === 'any' && isSet(after, PRESERVE) && Object.keys(after).every(isUnrestrictive)) {
    tell('any-type-allowed', PRESERVE, `the type of ${field} changed from ${was} to any`);
  } else tell('type-changed', 'type', `the type of ${field} changed from ${was} to ${is}`);
  return false;
}

/** Keywords that do not restrict values. */
function isUnrestrictive(name: string): boolean {
  return name === PRESERVE || name === 'nullable' || DOCUMENTATION.includes(name);
}

function typeName(schema: JsonObject): string {
  return isSet(schema, 'x-kubernetes-int-or-string') ? 'int-or-string' : (schemaType(schema) ?? 'any');
}

/** Compares other keywords, and values of a wrong type, for equality. */
function compareOtherKeywords(before: JsonObject, after: JsonObject, field: string, tell: NodeReport): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (canonicalContent(uncomparedValue(before, name)) === canonicalContent(uncomparedValue(after, name)))
      continue;
    const place = Object.hasOwn(after, name) ? name : undefined;
    tell('other-difference', place, `${field} differs in ${JSON.stringify(name)}`);
  }
}

function uncomparedValue(schema: JsonObject, name: string): JsonValue | undefined {
  const value = Object.hasOwn(schema, name) ? schema[name] : undefined;
  // Kubernetes treats null, and a flag that is false, as absent.
  if (value === null || (value === false && OPEN_API_KEYWORDS[name as OpenApiKeyword] === 'flag'))
    return undefined;
  const understood = COMPARED_KEYWORDS.has(name);
  if (understood && value !== undefined && isKeywordValue(value, OPEN_API_KEYWORDS[name as OpenApiKeyword])) {
    return undefined;
  }
  return value;
}

/** From the strictest to the most lenient. */
const OPENNESS = ['closed', 'map', 'open'] as const;

/** Returns the undeclared fields that an object accepts, as validators of functionConfigs do. */
function openness(schema: JsonObject): (typeof OPENNESS)[number] {
  if (isSet(schema, PRESERVE) || isSet(schema, 'x-kubernetes-embedded-resource')) return 'open';
  const values = keyword(schema, 'additionalProperties');
  if (values === undefined) return Object.keys(schemaProperties(schema)).length > 0 ? 'closed' : 'open';
  return values === true ? 'open' : values === false ? 'closed' : 'map';
}

function asSchema(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function fieldLabel(field: string): string {
  return field === '' ? 'the functionConfig' : field;
}

const PLAIN_NAME = /^[\w$*-]+$/;

function joinPath(field: string, name: string): string {
  if (!PLAIN_NAME.test(name)) return `${field}[${JSON.stringify(name)}]`;
  return field === '' ? name : `${field}.${name}`;
}
