export type { Catalog, CatalogKind } from './catalog.js';
export { CATALOG_KINDS } from './catalog.js';
export type { ConfigDescription, ConfigElement, ConfigField } from './config-fields/describe.js';
export { describeConfig } from './config-fields/describe.js';
export type { ConfigExample } from './config-fields/example.js';
export { exampleConfig } from './config-fields/example.js';
export type { ConfigRule } from './config-fields/rules.js';
export { FURTHER_RULES } from './config-fields/rules.js';
export * from './convert/convert.js';
export * from './definition.js';
export * from './diagnostic.js';
export * from './dialects.js';
export * from './digest.js';
export type { Draft, LintedDocument, LintResult, Location, Target } from './draft.js';
export * from './error.js';
export * from './glob.js';
export * from './gvk.js';
export type { ImageReference } from './image-reference.js';
export { parseImageReference } from './image-reference.js';
export {
  catalogJsonSchema,
  definitionJsonSchema,
  definitionSpecJsonSchema,
} from './json-schema/definition.js';
export { functionConfigSchema } from './json-schema/function-config.js';
export * from './kebab-case.js';
export * from './licenses.js';
export * from './limits.js';
export type { LintRule, RuleCode } from './lint/codes.js';
export { LINT_RULES } from './lint/codes.js';
export { isFloatingTag } from './lint/container.js';
export { isLicenseExpression, permitsLicense } from './lint/documents.js';
export type { LintOptions } from './lint/lint.js';
export { lint } from './lint/lint.js';
export { lintDefinition } from './lint/lint-definition.js';
export type { LintRuleset } from './lint/rule.js';
export { LINT_RULESETS } from './lint/rule.js';
export * from './media-types.js';
export * from './profile.js';
export * from './public-key.js';
export * from './read-catalog.js';
export * from './release.js';
export * from './snapshot.js';
export * from './source-problem.js';
export type { Takedown } from './takedown.js';
export * from './yaml.js';
