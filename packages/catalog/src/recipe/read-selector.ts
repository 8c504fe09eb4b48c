import { isGroup, isKind, isLicenseExpression, RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { licenseHint } from '@krmhub/schema/licenses/expressions';
import { normalizeLicense } from '@krmhub/schema/licenses/spdx-identifiers';
import { suggest } from '@krmhub/schema/suggest';
import type { RecipeField } from './codes.js';
import { type DenyRule, RECIPE_LIMITS, type Selector } from './recipe.js';

const SELECTOR_FIELDS = ['group', 'kind', 'tags', 'publisher', 'runtime', 'license'] as const;
/** Maximum number of license suggestions, because each compares with all licenses. */
const MAX_SUGGESTED = 100;

type LicenseCode = 'recipe/license' | 'recipe/selector-license';

export function readSelectors(field: RecipeField | undefined): Selector[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxSelectors);
  if (list?.length === 0) field?.report('recipe/empty-selector', 'the list of selectors is empty');
  return list?.map(readSelector);
}

export function readDenyRules(field: RecipeField | undefined): DenyRule[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxRules);
  if (list?.length === 0) {
    const hint = 'Add the functions to deny, or remove `deny`.';
    field?.report('recipe/empty-selector', 'the list of denied functions is empty', { hint });
  }
  return list?.map(readDenyRule);
}

function readDenyRule(field: RecipeField): DenyRule {
  const rule = field.mapping({ optional: [...SELECTOR_FIELDS, 'reason'] });
  if (rule === undefined) return {};
  if (rule.entries()!.every(([name]) => name === 'reason')) {
    const hint = 'Set a group, kind, tags, publisher, runtime, or license.';
    rule.report('recipe/empty-selector', 'the deny rule is empty', { hint });
  }
  const reason = rule.get('reason')?.text();
  return { ...readFields(rule, 'recipe/license'), ...defined({ reason }) };
}

function readSelector(field: RecipeField): Selector {
  const selector = field.mapping({ optional: SELECTOR_FIELDS });
  if (selector === undefined) return {};
  if (selector.entries()!.length === 0) {
    selector.report('recipe/empty-selector', 'the selector is empty, so it matches no function');
  }
  return readFields(selector, 'recipe/selector-license');
}

function readFields(selector: RecipeField, licenseCode: LicenseCode): Selector {
  const read: Selector = {};
  for (const name of SELECTOR_FIELDS) {
    const field = selector.get(name);
    if (field === undefined) continue;
    if (name === 'tags') {
      read.tags = readTags(field);
      continue;
    }
    const text = field.text();
    if (text === undefined) continue;
    if (name === 'runtime') read.runtime = readRuntime(text, field);
    else if (name === 'license') read.license = readLicense(text, field, licenseCode);
    else read[name] = text;
    if ((name === 'group' && !isGroup(text)) || (name === 'kind' && !isKind(text))) {
      field.report('recipe/selector-value', `"${text}" is not a valid ${name}`);
    }
  }
  return read;
}

function readTags(field: RecipeField): string[] {
  const list = field.list(RECIPE_LIMITS.maxTags);
  if (list?.length === 0) field.report('recipe/empty-selector', 'the list of tags is empty');
  return (list ?? []).flatMap((item) => item.text() ?? []);
}

function readRuntime(text: string, field: RecipeField): RuntimeKind {
  const runtime = RUNTIME_KINDS.find((kind) => kind === text);
  if (runtime !== undefined) return runtime;
  const meant = suggest(text, RUNTIME_KINDS);
  const hint = meant === undefined ? `Use one of ${RUNTIME_KINDS.join(', ')}.` : `Did you mean \`${meant}\`?`;
  field.report('recipe/selector-value', `"${text}" is not a runtime`, { hint });
  return RUNTIME_KINDS[0];
}

/** Normalizes the license to the spelling in definitions. */
export function readLicense(text: string, field: RecipeField, code: LicenseCode): string {
  const license = normalizeLicense(text) ?? text;
  if (!isLicenseExpression(license)) {
    const hint = field.reader.diagnostics.length < MAX_SUGGESTED ? licenseHint(text) : undefined;
    field.report(code, `"${text}" is not an SPDX license expression`, { hint });
  }
  return license;
}
