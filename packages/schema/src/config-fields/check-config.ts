import { checkRules } from '../cel/check-rules.js';
import { defined } from '../defined.js';
import { formatPath, type Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { ConfigVersion, DefinitionName, JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { checkValue, type ValueProblem, withoutNulls } from '../json-schema/check-value.js';
import { countValues } from '../json-schema/count-values.js';
import { versionNamed } from '../json-schema/function-config.js';
import { keyword, schemaProperties, schemaProperty, subschema } from '../json-schema/open-api.js';
import { PatternSet } from '../json-schema/pattern-set.js';
import { suggest } from '../names/suggest.js';

/** What is wrong with a functionConfig. */
export interface ConfigProblem extends ValueProblem {
  /** For example `spec.replicas`; empty for the functionConfig itself. */
  path: string;
}

/** `unchecked`: the schema or the functionConfig is too large to check, with the reason. */
export type ConfigCheck =
  | { result: 'checked'; problems: ConfigProblem[] }
  | { result: 'unchecked'; reason: string };

/** What of a definition the check needs. */
export interface CheckedDefinition extends DefinitionName {
  versions: readonly ConfigVersion[];
}

/** Maximum number of values in the functionConfig. */
const MAX_VALUES = 20_000;
const MAX_PROBLEMS = 20;

/**
 * Checks a functionConfig against the schema of its API version, as Kubernetes would check a custom resource at its
 * creation: also its CEL rules, except those that `lint` reports as not checked. `exact` returns the integer at a path,
 * where a number cannot have it. Throws a `not-found` KrmhubError for an unknown API version.
 */
export function checkConfig(
  definition: CheckedDefinition,
  versionName: string,
  config: JsonObject,
  exact?: (at: Path) => bigint | undefined,
): ConfigCheck {
  const schema = configSchema(definition, versionName);
  if (countValues(config, MAX_VALUES) >= MAX_VALUES) {
    return { result: 'unchecked', reason: `it has ${MAX_VALUES} values or more` };
  }
  const patterns = new PatternSet();
  const value = withoutNulls(schema, config);
  const checked = checkValue(schema, value, { patterns, exact });
  if ('exhausted' in checked) {
    return { result: 'unchecked', reason: 'its schema takes too many steps for it' };
  }
  let { problems } = checked;
  // Rules expect values of the types that the schema declares.
  if (problems.length === 0) {
    const found = checkRules(schema, value, exact);
    if (found === 'exhausted') {
      return { result: 'unchecked', reason: 'the CEL rules of its schema cost too much for it' };
    }
    problems = found;
  }
  const distinct = new Map(problems.map((one) => [`${formatPath(one.at)} ${one.message}`, one]));
  return {
    result: 'checked',
    problems: [...distinct.values()].slice(0, MAX_PROBLEMS).map((one) => named(one, schema)),
  };
}

/** Returns the schema of a functionConfig: that of the API version, with what every resource has. */
export function configSchema(definition: CheckedDefinition, versionName: string): JsonObject {
  const source = versionNamed(definition, versionName).schema.openAPIV3Schema;
  const properties = schemaProperties(source);
  const metadata = schemaProperty(source, 'metadata');
  const { additionalProperties: _, ...open } = metadata ?? {};
  const constant = (value: string): JsonObject => ({ type: 'string', enum: [value] });
  // A functionConfig is never null, and any metadata is allowed: a schema can only restrict it.
  return {
    ...source,
    type: 'object',
    nullable: false,
    required: ['apiVersion', 'kind', ...((keyword(source, 'required') as string[] | undefined) ?? [])],
    properties: {
      ...properties,
      apiVersion: constant(`${definition.group}/${versionName}`),
      kind: constant(definition.names.kind),
      metadata: { type: 'object', ...open, [PRESERVE_UNKNOWN]: true },
    },
    ...defined({ [PRESERVE_UNKNOWN]: Object.keys(properties).length === 0 ? true : undefined }),
  };
}

const PRESERVE_UNKNOWN = 'x-kubernetes-preserve-unknown-fields';

function named({ at, isKey, message }: ValueProblem, schema: JsonObject): ConfigProblem {
  const path = formatPath(isKey ? at.slice(0, -1) : at);
  const name = at.at(-1);
  if (!isKey || typeof name !== 'string') return { at, isKey, message, path };
  const known = Object.keys(schemaProperties(schemaAt(schema, at.slice(0, -1)) ?? {}));
  const similar = suggest(name, known);
  const hint = similar === undefined ? '' : `; did you mean ${quote(similar)}?`;
  return { at, isKey, message: `${message}${hint}`, path };
}

/** Returns the schema that declares the value at a path. */
function schemaAt(schema: JsonObject, at: Path): JsonObject | undefined {
  return at.reduce<JsonObject | undefined>((outer, step) => {
    if (outer === undefined) return undefined;
    const inner: JsonValue | undefined =
      typeof step === 'number'
        ? subschema(outer, 'items')
        : (schemaProperty(outer, step) ?? subschema(outer, 'additionalProperties'));
    return isObject(inner) ? inner : undefined;
  }, schema);
}
