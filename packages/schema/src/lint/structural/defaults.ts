import { checkValue } from '../../json-schema/check-value.js';
import { keyword } from '../../json-schema/open-api.js';
import type { Report } from '../rule.js';
import type { SchemaCheck, SchemaNode } from './nodes.js';

/** Maximum number of schemas that the defaults of a definition are compared with. */
export const MAX_DEFAULT_STEPS = 200_000;

/** Checks that each default is valid under its schema, including nested defaults. */
export const defaults: SchemaCheck = (nodes, report, state) => {
  const { patterns, steps } = state;
  for (const node of nodes) {
    const { schema, path, level } = node;
    const value = keyword(schema, 'default');
    if (value === undefined || level === 'junctor') continue;
    const at = [...path, 'default'];
    const checked = checkValue(schema, value, { patterns, steps });
    if ('exhausted' in checked && patterns.exhausted) {
      reportCostly(node, report);
      break;
    }
    if ('exhausted' in checked) {
      const message = 'the schemas with defaults are too large: this default and later ones are not checked';
      report('schema/default-unchecked', at, message, { target: 'key' });
      break;
    }
    const [first] = checked.problems;
    if (first !== undefined) report('schema/default', [...at, ...first.at], `the default ${first.message}`);
  }
};

function reportCostly({ path }: SchemaNode, report: Report): void {
  const message = 'the patterns are too complex: this default and later ones are not checked';
  report('schema/default-unchecked', [...path, 'default'], message, { target: 'key' });
}
