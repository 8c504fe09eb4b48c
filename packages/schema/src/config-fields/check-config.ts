import type { FunctionDefinition, JsonObject } from '../documents/definition.js';
import { functionConfigSchema } from '../json-schema/function-config.js';
import { PatternSet } from '../json-schema/pattern-set.js';
import { countValues, validateEach, withoutUnusedProperties } from '../json-schema/validate.js';

/** What is wrong with a functionConfig. */
export interface ConfigProblem {
  /** For example `spec.replicas`; empty for the functionConfig itself. */
  path: string;
  message: string;
}

/** `unchecked`: the schema or the functionConfig is too large to check, or the schema cannot be compiled. */
export type ConfigCheck = { result: 'checked'; problems: ConfigProblem[] } | { result: 'unchecked' };

/** Maximum number of values in the functionConfig and the part of its schema that applies. */
const MAX_VALUES = 20_000;
const MAX_PROBLEMS = 20;

/**
 * Checks a functionConfig against the schema of its API version. CEL rules and lists without duplicates are not
 * checked. Throws a `not-found` KrmhubError for an unknown API version.
 */
export function checkConfig(
  definition: FunctionDefinition,
  versionName: string,
  config: JsonObject,
): ConfigCheck {
  const schema = withoutUnusedProperties(config, functionConfigSchema(definition, versionName));
  if (countValues([config, schema], MAX_VALUES) >= MAX_VALUES) return { result: 'unchecked' };
  const patterns = new PatternSet();
  try {
    const errors = validateEach({ 0: schema }, { 0: config }, patterns);
    if (patterns.exhausted) return { result: 'unchecked' };
    const problems = new Map<string, ConfigProblem>();
    for (const error of errors) {
      // A schema that can be null has one more error for each value that is not.
      if (error.message === 'must be null') continue;
      const problem = describe(error.instancePath, error.message ?? 'is not valid', error.params);
      problems.set(`${problem.path} ${problem.message}`, problem);
    }
    return { result: 'checked', problems: [...problems.values()].slice(0, MAX_PROBLEMS) };
  } catch {
    // The validator throws for a schema that it cannot compile.
    return { result: 'unchecked' };
  }
}

function describe(pointer: string, message: string, params: Record<string, unknown>): ConfigProblem {
  const steps = pointer
    .split('/')
    .slice(2)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const path = steps.reduce(
    (text, step) => (/^\d+$/.test(step) ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
  const { additionalProperty, allowedValues } = params;
  if (typeof additionalProperty === 'string')
    return { path, message: `has the unknown field "${additionalProperty}"` };
  if (Array.isArray(allowedValues))
    return { path, message: `must be one of ${allowedValues.map(String).join(', ')}` };
  return { path, message };
}
