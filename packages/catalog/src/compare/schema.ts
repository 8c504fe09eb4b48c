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
import { compareValues, type NodeComparison } from './keywords.js';
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

/** A schema with its position. `path` is the path of the field that it is for; empty for the functionConfig. */
interface PlacedNode extends NodeComparison {
  at: Path;
  path: string;
  depth: number;
}

class Comparison {
  private nodes = 0;

  constructor(private readonly report: Report) {}

  compare(before: JsonObject, after: JsonObject, at: Path, path: string, depth: number): void {
    if (this.nodes >= MAX_NODES) return;
    const field = fieldLabel(path);
    if (++this.nodes === MAX_NODES || depth > DOCUMENT_LIMITS.maxDepth) {
      const message = `the schema is too large or too deep: ${field} and the rest are not compared`;
      this.report('not-compared', at, message);
      return;
    }
    const report: NodeComparison['report'] = (rule, name, message) =>
      this.report(rule, name === undefined ? at : [...at, name], message);
    const node = { before, after, at, path, field, depth, report };
    if (DOCUMENTATION.some((name) => canonicalContent(before[name]) !== canonicalContent(after[name]))) {
      report('documentation-changed', undefined, `the documentation of ${field} changed`);
    }
    if (!compareTypes(node)) return;
    compareValues(node);
    compareRestrictions(node);
    compareOtherKeywords(node);
    this.compareFields(node);
    this.compareItems(node);
  }

  private compareFields(node: PlacedNode): void {
    const { before, after, at, path, field, depth, report } = node;
    const was = openness(before);
    const is = openness(after);
    if (was !== is) {
      if (isSet(before, PRESERVE) && !isSet(after, PRESERVE)) {
        report('preserve-unknown-removed', undefined, `${field} no longer preserves unknown fields`);
      } else if (OPENNESS.indexOf(is) < OPENNESS.indexOf(was)) {
        const now = is === 'map' ? 'values of one schema' : 'declared fields';
        report('closed', undefined, `${field} now accepts only ${now}; it accepted any field before`);
      } else report('opened', undefined, `${field} now accepts undeclared fields`);
    }
    const values = subschema(after, 'additionalProperties');
    const oldValues = subschema(before, 'additionalProperties');
    if (values !== undefined && oldValues !== undefined) {
      this.compare(oldValues, values, [...at, 'additionalProperties'], joinPath(path, '*'), depth + 1);
    }
    // If the object was open and is now closed, its declared fields are not additions.
    this.compareProperties(node, was !== 'closed' && is !== 'closed');
  }

  private compareProperties({ before, after, at, path, depth }: PlacedNode, open: boolean): void {
    const old = schemaProperties(before);
    const now = schemaProperties(after);
    const needed = new Set(requiredProperties(after));
    const wasNeeded = new Set(requiredProperties(before));
    const place = Object.keys(now).length > 0 ? [...at, 'properties'] : at;
    for (const name of Object.keys(old)) {
      if (Object.hasOwn(now, name)) continue;
      this.report('property-removed', place, `${joinPath(path, name)} is removed`);
    }
    for (const [name, value] of Object.entries(now)) {
      const child = [...at, 'properties', name];
      const named = joinPath(path, name);
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
      const named = joinPath(path, name);
      const isNew = Object.hasOwn(now, name) && !Object.hasOwn(old, name);
      if (isNew) {
        this.report('required-property-added', [...at, 'properties', name], `${named} is added and required`);
      } else this.report('property-required', [...at, 'required'], `${named} is now required`);
    }
    for (const name of wasNeeded) {
      if (needed.has(name) || !Object.hasOwn(now, name)) continue;
      const message = `${joinPath(path, name)} is now optional`;
      this.report('property-optional', [...at, 'properties', name], message);
    }
  }

  private compareItems({ before, after, at, path, field, depth, report }: PlacedNode): void {
    const old = subschema(before, 'items');
    const now = subschema(after, 'items');
    if (old !== undefined && now !== undefined) {
      this.compare(old, now, [...at, 'items'], `${path}[*]`, depth + 1);
    } else if (old !== undefined || now !== undefined) {
      const message = `the schema of the items of ${field} is ${now ? 'added' : 'removed'}`;
      report('other-difference', now && 'items', message);
    }
  }
}

/** Returns false if the types differ, so that nothing else can be compared. */
function compareTypes({ before, after, field, report }: NodeComparison): boolean {
  const was = typeName(before);
  const is = typeName(after);
  if (was === is) return true;
  const changed = `the type of ${field} changed from ${was} to`;
  if (is === 'int-or-string' && (was === 'integer' || was === 'string')) {
    report('int-or-string-allowed', undefined, `${changed} integer or string`);
    return true;
  }
  if (was === 'integer' && is === 'number') {
    report('integer-to-number', 'type', `${changed} number`);
    return true;
  }
  if (was === 'any' && isSet(before, PRESERVE)) {
    report('preserve-unknown-removed', 'type', `${changed} ${is}`);
  } else if (is === 'any' && isSet(after, PRESERVE) && Object.keys(after).every(isUnrestrictive)) {
    report('any-type-allowed', PRESERVE, `${changed} any`);
  } else report('type-changed', 'type', `${changed} ${is}`);
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
function compareOtherKeywords({ before, after, field, report }: NodeComparison): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (canonicalContent(uncomparedValue(before, name)) === canonicalContent(uncomparedValue(after, name)))
      continue;
    const place = Object.hasOwn(after, name) ? name : undefined;
    report('other-difference', place, `${field} differs in ${JSON.stringify(name)}`);
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
