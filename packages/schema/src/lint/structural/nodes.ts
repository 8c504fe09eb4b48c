import type { Path } from '../../diagnostics/diagnostic.js';
import type { JsonObject } from '../../documents/definition.js';
import { isObject } from '../../json/access.js';
import {
  JUNCTORS,
  keyword,
  schemaProperties,
  schemaProperty,
  subschema,
} from '../../json-schema/open-api.js';
import type { PatternSet } from '../../json-schema/pattern-set.js';
import type { Report } from '../rule.js';

/** One schema in an openAPIV3Schema. */
export interface SchemaNode {
  schema: JsonObject;
  path: Path;
  /** `junctor`: inside allOf, anyOf, oneOf, or not, where a schema can only restrict outside declarations. */
  level: 'root' | 'field' | 'items' | 'junctor';
  /** For a junctor: the declaration of the same value outside. */
  declared?: JsonObject | undefined;
  /** The name of the value, if it is a field. */
  name?: string;
}

/** Visits every schema of an openAPIV3Schema, in document order. */
export type SchemaCheck = (nodes: readonly SchemaNode[], report: Report, state: CheckState) => void;

/**
 * The budget that the checks of one definition share, so that many API versions cost no more than one large version.
 */
export interface CheckState {
  patterns: PatternSet;
  /** How many more schemas may be compared with defaults. */
  steps: { left: number };
}

export const MAX_SCHEMA_NODES = 20_000;

/**
 * Returns all schemas of an openAPIV3Schema, outer before inner. `complete` is false if there are more than the limit.
 */
export function schemaNodes(root: JsonObject, path: Path): { nodes: SchemaNode[]; complete: boolean } {
  const nodes: SchemaNode[] = [];
  const rest: SchemaNode[] = [{ schema: root, path, level: 'root' }];
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if (nodes.length >= MAX_SCHEMA_NODES) return { nodes, complete: false };
    nodes.push(node);
    const inner = innerNodes(node);
    for (let index = inner.length - 1; index >= 0; index--) rest.push(inner[index]!);
  }
  return { nodes, complete: true };
}

function innerNodes(node: SchemaNode): SchemaNode[] {
  const { schema, path, level, declared } = node;
  const junctor = level === 'junctor';
  const inner: SchemaNode[] = [];
  for (const name of Object.keys(schemaProperties(schema))) {
    const property = schemaProperty(schema, name);
    if (property === undefined) continue;
    const at = [...path, 'properties', name];
    inner.push(
      junctor
        ? { schema: property, path: at, level, declared: declared && schemaProperty(declared, name) }
        : { schema: property, path: at, level: 'field', name },
    );
  }
  for (const name of ['items', 'additionalProperties'] as const) {
    const items = subschema(schema, name);
    if (items === undefined) continue;
    const at = [...path, name];
    inner.push(
      junctor
        ? { schema: items, path: at, level, declared: declared && subschema(declared, name) }
        : { schema: items, path: at, level: 'items' },
    );
  }
  const outside = junctor ? declared : schema;
  for (const name of JUNCTORS) {
    const branches = keyword(schema, name);
    if (!Array.isArray(branches)) continue;
    branches.forEach((branch, index) => {
      if (isObject(branch)) {
        inner.push({ schema: branch, path: [...path, name, index], level: 'junctor', declared: outside });
      }
    });
  }
  const negated = subschema(schema, 'not');
  if (negated !== undefined) {
    inner.push({ schema: negated, path: [...path, 'not'], level: 'junctor', declared: outside });
  }
  return inner;
}
