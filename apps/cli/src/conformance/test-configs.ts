import { checkConfig } from '@krmhub/schema/config-fields/check-config';
import { exampleConfig } from '@krmhub/schema/config-fields/example';
import type { FunctionDefinition, JsonObject } from '@krmhub/schema/definition';
import { isObject } from '@krmhub/schema/json/access';

/** Fields that every functionConfig has, and functions do not read. */
const COMMON = ['apiVersion', 'kind', 'metadata'];
const MAX_DEPTH = 4;

/**
 * Returns a functionConfig that the schema accepts: of the first example that has one, else from the schema. Examples
 * that should fail may have others.
 */
export function testConfig(
  definition: FunctionDefinition,
  version: string,
  examples: readonly (JsonObject | undefined)[],
): JsonObject {
  const accepted = examples.find(
    (config) => config !== undefined && findProblem(definition, version, config) === undefined,
  );
  return accepted ?? exampleConfig(definition, version).value;
}

/**
 * Returns a functionConfig without a required field, or with a field of another type. Undefined if the schema accepts
 * all of them.
 */
export function rejectedConfig(
  definition: FunctionDefinition,
  version: string,
  config: JsonObject,
): { value: JsonObject; reason: string } | undefined {
  for (const candidate of candidates(config, '', COMMON)) {
    if (findProblem(definition, version, candidate.value) !== undefined) return candidate;
  }
  return undefined;
}

/** Variants of a mapping, each with one field that is missing or has another type. */
function* candidates(
  value: JsonObject,
  path: string,
  kept: readonly string[] = [],
): Generator<{ value: JsonObject; reason: string }> {
  const fields = Object.keys(value).filter((name) => !kept.includes(name));
  for (const name of fields) {
    const { [name]: _, ...rest } = value;
    yield { value: rest, reason: `without \`${path}${name}\`` };
  }
  for (const name of fields) {
    const inner = value[name];
    if (!isObject(inner) || path.split('.').length > MAX_DEPTH) continue;
    for (const one of candidates(inner, `${path}${name}.`)) {
      yield { value: { ...value, [name]: one.value }, reason: one.reason };
    }
  }
  for (const name of fields) {
    const other = Array.isArray(value[name]) ? 'text' : ['text'];
    yield { value: { ...value, [name]: other }, reason: `\`${path}${name}\` of another type` };
  }
}

function findProblem(
  definition: FunctionDefinition,
  version: string,
  config: JsonObject,
): string | undefined {
  const checked = checkConfig(definition, version, config);
  return checked.result === 'checked' ? checked.problems[0]?.message : undefined;
}
