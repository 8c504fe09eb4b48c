import {
  isGroup,
  isKind,
  isLicenseExpression,
  type JsonValue,
  type Path,
  RUNTIME_KINDS,
  type RuntimeKind,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { licenseHint } from '@krmhub/schema/licenses/expressions';
import { normalizeLicense } from '@krmhub/schema/licenses/spdx-identifiers';
import { suggest } from '@krmhub/schema/suggest';
import type { RecipeFields } from './fields.js';
import { type DenyRule, RECIPE_LIMITS, type Selector } from './recipe.js';

const SELECTOR_FIELDS = ['group', 'kind', 'tags', 'publisher', 'runtime', 'license'] as const;
/** Maximum number of license suggestions, because each compares with all licenses. */
const MAX_SUGGESTED = 100;

type LicenseCode = 'recipe/license' | 'recipe/selector-license';

export function readSelectors(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
): Selector[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, RECIPE_LIMITS.maxSelectors);
  if (list?.length === 0) fields.report('recipe/empty-selector', at, 'the list of selectors is empty');
  return list?.map((item, index) => readSelector(item, [...at, index], fields));
}

export function readDenyRules(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
): DenyRule[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, RECIPE_LIMITS.maxRules);
  if (list?.length === 0) {
    const hint = 'Add the functions to deny, or remove `deny`.';
    fields.report('recipe/empty-selector', at, 'the list of denied functions is empty', { hint });
  }
  return list?.map((item, index) => readDenyRule(item, [...at, index], fields));
}

function readDenyRule(value: JsonValue, at: Path, fields: RecipeFields): DenyRule {
  const rule = fields.mapping(value, at, { optional: [...SELECTOR_FIELDS, 'reason'] });
  if (rule === undefined) return {};
  const { reason: written, ...selector } = rule;
  if (Object.keys(selector).length === 0) {
    const hint = 'Set a group, kind, tags, publisher, runtime, or license.';
    fields.report('recipe/empty-selector', at, 'the deny rule is empty', { hint });
  }
  const reason = written === undefined ? undefined : fields.text(written, [...at, 'reason']);
  const read = readFields(selector, at, fields, 'recipe/license');
  return { ...read, ...defined({ reason }) };
}

function readSelector(value: JsonValue, at: Path, fields: RecipeFields): Selector {
  const selector = fields.mapping(value, at, { optional: SELECTOR_FIELDS });
  if (selector === undefined) return {};
  if (Object.keys(selector).length === 0)
    fields.report('recipe/empty-selector', at, 'the selector is empty, so it matches no function');
  return readFields(selector, at, fields, 'recipe/selector-license');
}

function readFields(
  selector: Record<string, JsonValue>,
  at: Path,
  fields: RecipeFields,
  licenseCode: LicenseCode,
): Selector {
  const read: Selector = {};
  for (const name of SELECTOR_FIELDS) {
    const field = selector[name];
    if (field === undefined) continue;
    const path = [...at, name];
    if (name === 'tags') {
      read.tags = readTags(field, path, fields);
      continue;
    }
    const text = fields.text(field, path);
    if (text === undefined) continue;
    if (name === 'runtime') read.runtime = readRuntime(text, path, fields);
    else if (name === 'license') read.license = readLicense(text, path, fields, licenseCode);
    else read[name] = text;
    if (name === 'group' && !isGroup(text))
      fields.report('recipe/selector-value', path, `"${text}" is not a valid group`);
    if (name === 'kind' && !isKind(text))
      fields.report('recipe/selector-value', path, `"${text}" is not a valid kind`);
  }
  return read;
}

function readTags(value: JsonValue, at: Path, fields: RecipeFields): string[] {
  const list = fields.list(value, at, RECIPE_LIMITS.maxTags);
  if (list?.length === 0) fields.report('recipe/empty-selector', at, 'the list of tags is empty');
  return (list ?? []).flatMap((item, index) => fields.text(item, [...at, index]) ?? []);
}

function readRuntime(text: string, at: Path, fields: RecipeFields): RuntimeKind {
  const runtime = RUNTIME_KINDS.find((kind) => kind === text);
  if (runtime !== undefined) return runtime;
  const meant = suggest(text, RUNTIME_KINDS);
  const hint = meant === undefined ? `Use one of ${RUNTIME_KINDS.join(', ')}.` : `Did you mean \`${meant}\`?`;
  fields.report('recipe/selector-value', at, `"${text}" is not a runtime`, { hint });
  return RUNTIME_KINDS[0];
}

/** Normalizes the license to the spelling in definitions. */
export function readLicense(text: string, at: Path, fields: RecipeFields, code: LicenseCode): string {
  const license = normalizeLicense(text) ?? text;
  if (!isLicenseExpression(license)) {
    const hint = fields.diagnostics.length < MAX_SUGGESTED ? { hint: licenseHint(text) } : {};
    fields.report(code, at, `"${text}" is not an SPDX license expression`, hint);
  }
  return license;
}
