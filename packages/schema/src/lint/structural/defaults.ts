import type { JsonObject, JsonValue } from '../../documents/definition.js';
import { toJsonSchema } from '../../json-schema/function-config.js';
import { keyword } from '../../json-schema/open-api.js';
import {
  countValues,
  firstErrors,
  validateEach,
  withoutUnusedProperties,
} from '../../json-schema/validate.js';
import type { Report } from '../rule.js';
import type { SchemaCheck, SchemaNode } from './nodes.js';
import { scalarDefault } from './scalar-default.js';

/** Maximum number of values per definition. A validator for 5,000 values takes a few tenths of a second to compile. */
export const MAX_DEFAULT_VALUES = 5_000;

/** Checks that each default is valid under its schema, including nested defaults. */
export const defaults: SchemaCheck = (nodes, report, state) => {
  const { patterns } = state;
  const checked: { node: SchemaNode; value: JsonValue }[] = [];
  const schemas: JsonObject = {};
  for (const node of nodes) {
    const value = keyword(node.schema, 'default');
    if (value === undefined || node.level === 'junctor') continue;
    const scalar = scalarDefault(node.schema, value, patterns);
    if (scalar !== 'unknown') {
      if (scalar !== undefined) report('schema/default', [...node.path, 'default'], `the default ${scalar}`);
      if (!patterns.exhausted) continue;
      reportCostly(node, report);
      break;
    }
    state.valuesLeft -= countValues(node.schema, state.valuesLeft);
    if (state.valuesLeft <= 0) {
      const message = 'the schemas with defaults are too large: this default and later ones are not checked';
      report('schema/default-unchecked', [...node.path, 'default'], message, { target: 'key' });
      break;
    }
    schemas[String(checked.length)] = withoutUnusedProperties(
      value,
      toJsonSchema(node.schema, () => true),
    );
    checked.push({ node, value });
  }
  if (checked.length === 0) return;
  const defaultsByIndex = Object.fromEntries(checked.map(({ value }, index) => [index, value]));
  const before = patterns.exhausted;
  const errors = validateEach(schemas, defaultsByIndex, patterns);
  if (patterns.exhausted && !before) reportCostly(checked[0]!.node, report);
  for (const [index, { path, message }] of firstErrors(errors)) {
    const { node, value } = checked[index]!;
    report('schema/default', [...node.path, 'default', ...stepsIn(value, path)], `the default ${message}`);
  }
};

function reportCostly({ path }: SchemaNode, report: Report): void {
  const message = 'the patterns are too complex: this default and later ones are not checked';
  report('schema/default-unchecked', [...path, 'default'], message, { target: 'key' });
}

/** Converts the steps of a JSON pointer to a path with numbers as list indexes. */
function stepsIn(value: JsonValue, steps: readonly string[]): (string | number)[] {
  let current: JsonValue | undefined = value;
  return steps.map((step) => {
    const key = Array.isArray(current) ? Number(step) : step;
    current = Array.isArray(current)
      ? current[Number(step)]
      : typeof current === 'object' && current !== null
        ? current[step]
        : undefined;
    return key;
  });
}
