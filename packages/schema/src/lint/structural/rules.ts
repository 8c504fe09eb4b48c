import { celRules, uncheckedRule } from '../../cel/check-rules.js';
import { textField } from '../../json/access.js';
import { keyword } from '../../json-schema/open-api.js';
import { isUncheckedFormat } from '../../json-schema/value-formats.js';
import type { SchemaCheck } from './nodes.js';

const VALIDATIONS = 'x-kubernetes-validations';
/** Maximum number of characters of the rules of a definition. The longest take milliseconds to parse. */
const MAX_RULE_CHARACTERS = 100_000;

/** Reports what krmhub does not enforce in a functionConfig, and Kubernetes does in a custom resource. */
export const rules: SchemaCheck = (nodes, report) => {
  let left = MAX_RULE_CHARACTERS;
  for (const { schema, path, level } of nodes) {
    const format = keyword(schema, 'format');
    if (typeof format === 'string' && isUncheckedFormat(format)) {
      report('schema/unchecked', [...path, 'format'], `the format ${format} is not checked`);
    }
    if (level === 'junctor') continue;
    for (const [index, rule] of celRules(schema).entries()) {
      const at = [...path, VALIDATIONS, index, 'rule'];
      left -= textField(rule, 'rule')?.length ?? 0;
      if (left < 0) {
        report('schema/unchecked', at, 'the rules are too long: this rule and later ones were not read');
        return;
      }
      const reason = uncheckedRule(rule);
      if (reason !== undefined) report('schema/unchecked', at, `the rule is not checked: ${reason}`);
    }
  }
};
