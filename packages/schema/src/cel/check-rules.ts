import type { CelInput } from '@bufbuild/cel';
import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject, textField } from '../json/access.js';
import type { ValueProblem } from '../json-schema/check-value.js';
import { keyword, schemaProperty, subschema } from '../json-schema/open-api.js';
import { CelBudget } from './budget.js';
import { type CelExpression, compileCel, compileCondition } from './expression.js';
import { readFieldPath, toSchemaValue } from './schema-values.js';

/** CEL rules of a schema (`x-kubernetes-validations`), as Kubernetes evaluates them at the creation of a resource. */

/** Rules that compare with the value before do not apply at a creation. */
const TRANSITION = /\boldSelf\b/;

/** Returns the CEL rules of a schema, without those of fields and items. */
export function celRules(schema: JsonObject): JsonObject[] {
  const rules = (keyword(schema, 'x-kubernetes-validations') as JsonValue[] | undefined) ?? [];
  return rules.filter(isObject).filter((rule) => textField(rule, 'rule') !== undefined);
}

/** Says why a rule is not checked; undefined for one that is. */
export function uncheckedRule(rule: JsonObject): string | undefined {
  const text = textField(rule, 'rule') ?? '';
  if (TRANSITION.test(text) && rule.optionalOldSelf !== true) return undefined;
  const compiled = compileCondition(text, ['self']);
  return 'problem' in compiled ? compiled.problem : undefined;
}

/** Evaluates the rules for a value and all values inside it. `exhausted`: they cost too much. */
export function checkRules(
  schema: JsonObject,
  value: JsonValue,
  exact?: (at: Path) => bigint | undefined,
): ValueProblem[] | 'exhausted' {
  const budget = new CelBudget();
  const compiled = new Map<string, CelExpression | { problem: string }>();
  const problems: ValueProblem[] = [];
  const compile = (text: string, make: typeof compileCel) => {
    const known = compiled.get(text) ?? make(text, ['self']);
    compiled.set(text, known);
    return known;
  };
  const visit = (outer: JsonObject, inner: JsonValue, at: Path): void => {
    // A value that may be null has no rules to satisfy then.
    if (inner === null || budget.exhausted) return;
    const rules = celRules(outer);
    if (rules.length > 0) {
      const self = toSchemaValue(outer, inner, { at, exact });
      for (const rule of rules) check(rule, self, at);
    }
    if (Array.isArray(inner)) {
      const items = subschema(outer, 'items');
      if (items !== undefined && mayApply(items)) {
        for (const [index, item] of inner.entries()) visit(items, item, [...at, index]);
      }
    } else if (isObject(inner)) {
      for (const [name, item] of Object.entries(inner)) {
        const property = schemaProperty(outer, name) ?? subschema(outer, 'additionalProperties');
        if (property !== undefined) visit(property, item, [...at, name]);
      }
    }
  };
  const withRules = new Map<JsonObject, boolean>();
  const mayApply = (items: JsonObject): boolean => {
    const known = withRules.get(items) ?? hasRules(items);
    withRules.set(items, known);
    return known;
  };
  const check = (rule: JsonObject, self: CelInput, at: Path): void => {
    const text = textField(rule, 'rule')!;
    if (TRANSITION.test(text)) return;
    const expression = compile(text, compileCondition);
    if ('problem' in expression) return;
    const outcome = expression.evaluate({ self }, budget);
    if ('value' in outcome && outcome.value === true) return;
    const reason = 'problem' in outcome ? `${failed(rule)}: ${outcome.problem}` : ruleMessage(rule, self);
    const fieldPath = textField(rule, 'fieldPath');
    const below = fieldPath === undefined ? [] : readFieldPath(fieldPath);
    problems.push({ at: [...at, ...below], isKey: false, message: reason });
  };
  const ruleMessage = (rule: JsonObject, self: CelInput): string => {
    const text = textField(rule, 'messageExpression');
    const expression = text === undefined ? undefined : compile(text, compileCel);
    if (expression !== undefined && 'evaluate' in expression) {
      const outcome = expression.evaluate({ self }, budget);
      if ('value' in outcome && typeof outcome.value === 'string' && /^[^\n]*\S[^\n]*$/.test(outcome.value)) {
        return `is not valid: ${outcome.value.trim()}`;
      }
    }
    const message = textField(rule, 'message')?.trim();
    return message ? `is not valid: ${message}` : failed(rule);
  };
  visit(schema, value, []);
  return budget.exhausted ? 'exhausted' : problems;
}

function failed(rule: JsonObject): string {
  return `does not satisfy the rule ${textField(rule, 'rule')!.trim()}`;
}

/** Reports whether a schema has rules, so that large lists without rules are not visited. */
function hasRules(schema: JsonObject): boolean {
  const rest: JsonValue[] = [schema];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (!isObject(next) && !Array.isArray(next)) continue;
    if (isObject(next) && Object.hasOwn(next, 'x-kubernetes-validations')) return true;
    for (const inner of Object.values(next)) rest.push(inner);
  }
  return false;
}
