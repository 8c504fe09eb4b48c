/**
 * Reads, checks, describes, and converts the documents of KRM functions.
 *
 * Pure: no I/O, clock, randomness, or environment, except that libraries are loaded on first use.
 *
 * @module
 */

export * from '@krmhub/yaml';
export { evaluateCondition } from './cel/expression.js';
export type { ConfigDescription, ConfigElement, ConfigField } from './config-fields/describe.js';
export { describeConfig } from './config-fields/describe.js';
export type { ConfigExample } from './config-fields/example.js';
export { exampleConfig } from './config-fields/example.js';
export type { ConfigRule } from './config-fields/rules.js';
export { FURTHER_RULES } from './config-fields/rules.js';
export * from './convert/convert.js';
export { sharedImageRelease } from './convert/image-release.js';
export * from './diagnostics/diagnostic.js';
export * from './diagnostics/error.js';
export type { Draft, Location } from './dialects/draft.js';
export * from './dialects/read-dialect.js';
export * from './digests/digest.js';
export {
  ATTESTATION_TYPES,
  type AttestationSummary,
  type AttestationType,
  attestationType,
  type ProvenanceSummary,
  type TestSummary,
} from './documents/attestation.js';
export * from './documents/audit-actions.js';
export type { Catalog, CatalogKind } from './documents/catalog.js';
export { CATALOG_KINDS } from './documents/catalog.js';
export * from './documents/ci-providers.js';
export * from './documents/definition.js';
export * from './documents/event-types.js';
export * from './documents/formats.js';
export * from './documents/limits.js';
export * from './documents/media-types.js';
export * from './documents/profile.js';
export * from './documents/release.js';
export * from './documents/replacement.js';
export type { Signer, SourceField, SourceIdentity, SourceRequirements } from './documents/signer.js';
export * from './documents/snapshot.js';
export * from './documents/source-problem.js';
export type { Takedown, TakenDownSigner, Withdrawal, WithdrawalReason } from './documents/takedown.js';
export type { ImageReference } from './images/image-reference.js';
export { ociDigest, parseImageReference } from './images/image-reference.js';
export { definitionSpecJsonSchema } from './json-schema/definition.js';
export { functionConfigSchema } from './json-schema/function-config.js';
export * from './keys/public-key.js';
export * from './licenses/allowed-licenses.js';
export { isLicenseExpression, permitsLicense } from './licenses/expressions.js';
export type { LintRule, RuleCode } from './lint/codes.js';
export { LINT_RULES } from './lint/codes.js';
export { isFloatingTag } from './lint/container.js';
export type { LintOptions } from './lint/lint.js';
export { lint } from './lint/lint.js';
export { lintDefinition } from './lint/lint-definition.js';
export type { LintedDocument, LintResult } from './lint/lint-result.js';
export { hasReadmePlaceholder, README_PLACEHOLDER } from './lint/placeholders.js';
export * from './lint/read-catalog.js';
export type { LintRuleset } from './lint/rule.js';
export { LINT_RULESETS } from './lint/rule.js';
export { foldCase } from './names/fold-case.js';
export * from './names/glob.js';
export * from './names/gvk.js';
export * from './names/kebab-case.js';
export * from './names/parse-url.js';
