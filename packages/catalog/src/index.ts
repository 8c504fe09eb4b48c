/**
 * Decisions about releases, catalogs, trust, and locks, for the registry and the command line.
 *
 * Pure: no I/O, clock, randomness, or environment. The caller reads what a decision needs, passes it with the time, and
 * stores the result.
 *
 * @module
 */

export type { TestSummary } from '@krmhub/schema';
export * from './access/access-document.js';
export * from './access/access-rules.js';
export * from './access/can.js';
export { catalogReaderRules, catalogReaders } from './access/catalog-readers.js';
export { ACCESS_CODES, type AccessCode } from './access/codes.js';
export {
  type AccessChange,
  COMPARED_ACTIONS,
  COMPARISON_LIMITS,
  type ComparedAction,
  type ComparedActor,
  compareAccess,
  comparedActors,
  type KnownActors,
  type KnownNames,
  type TeamEnd,
  teamActor,
  userActor,
} from './access/compare-access.js';
export {
  accessChangeCount,
  type DescribedChange,
  describeAccessChange,
  describeBehind,
  describeExposedFunction,
  describeSnapshots,
  describeTeamEnd,
  EVERY_GROUP_IS_OPEN,
  EXPOSED_STAYS,
} from './access/describe-change.js';
export { accessObjectText, parseAccessObject } from './access/object-text.js';
export * from './access/owner-claims.js';
export { readAccess } from './access/read-access.js';
export { readablePolicies } from './access/readable-policies.js';
export { readsRecipe } from './access/readable-recipe.js';
export * from './access/scopes.js';
export * from './access/search-access.js';
export * from './access/team-members.js';
export { rightsWithin } from './access/token-rights.js';
export * from './access/trusted-publishers/check-claims.js';
export * from './access/trusted-publishers/providers.js';
export * from './access/user-names.js';
export * from './compare/change-kinds.js';
export * from './compare/compare.js';
export * from './compare/compare-catalogs.js';
export { summarizeChanges } from './compare/summarize-changes.js';
export { LOCK_CODES, type LockCode } from './lock/codes.js';
export * from './lock/compare-locks.js';
export * from './lock/judge-catalog.js';
export * from './lock/judge-runtime.js';
export * from './lock/lock.js';
export * from './lock/plan-image-update.js';
export * from './lock/plan-lock.js';
export * from './lock/plan-update.js';
export { readLock } from './lock/read-lock.js';
export { lockDocument, writeLock } from './lock/write-lock.js';
export * from './plan/attach.js';
export * from './plan/check-compatibility.js';
export * from './plan/check-replacement.js';
export * from './plan/definition-facts.js';
export * from './plan/displayed-release.js';
export {
  imageNames,
  imageReferences,
  imageRepositories,
  imageRepository,
  imageTag,
  tagInNames,
} from './plan/image-repositories.js';
export * from './plan/lifecycle.js';
export * from './plan/look-alike.js';
export { lacksSigner, mergeSigners } from './plan/pinned-signers.js';
export * from './plan/publish.js';
export * from './plan/publish-codes.js';
export * from './plan/release-words.js';
export * from './plan/runtime-pins.js';
export * from './plan/takedown.js';
export * from './plan/trust.js';
export * from './policy/catalog-url.js';
export * from './policy/codes.js';
export { compareTrust, type TrustChange } from './policy/compare-policies.js';
export { issuerDangers, patternDangers } from './policy/dangers.js';
export { describeSource } from './policy/describe-source.js';
export * from './policy/evaluate-signatures.js';
export * from './policy/judge-signature.js';
export { readSigningPolicies } from './policy/read-signing-policies.js';
export { isInReleaseRange } from './policy/release-range.js';
export { requiredAs } from './policy/required-attestations.js';
export * from './policy/signature-verdict.js';
export * from './policy/signing-policy.js';
export * from './policy/source-requirements.js';
export * from './policy/test-reports.js';
export * from './ports/audit-store.js';
export * from './ports/blob-store.js';
export * from './ports/consumer-store.js';
export * from './ports/entry-records.js';
export * from './ports/event-store.js';
export * from './ports/function-name.js';
export * from './ports/function-store.js';
export * from './ports/policy-store.js';
export * from './ports/records.js';
export * from './ports/release-parts.js';
export * from './ports/release-words.js';
export * from './ports/revision-conflict.js';
export * from './ports/runtime-pin.js';
export * from './ports/search-records.js';
export * from './ports/search-store.js';
export * from './ports/segment-records.js';
export * from './ports/snapshot-store.js';
export * from './ports/source-records.js';
export * from './ports/source-store.js';
export * from './ports/token-store.js';
export * from './ports/trusted-publisher-store.js';
export * from './ports/user-store.js';
export type { ProfileDialect, ProfileEntry, ProfileWriter } from './profiles/profile.js';
export * from './profiles/profiles.js';
export { profileReportPieces } from './profiles/report.js';
export * from './recipe/codes.js';
export * from './recipe/evaluate-policy.js';
export * from './recipe/key-files.js';
export { formatDuration } from './recipe/read-duration.js';
export { readRecipe } from './recipe/read-recipe.js';
export * from './recipe/recipe.js';
export * from './recipe/rewrite.js';
export * from './recipe/source-address.js';
export * from './render/render.js';
export * from './render/to-yaml.js';
export * from './render/unpinned-references.js';
export * from './render/usage.js';
export * from './resolve/entries/entry-index.js';
export * from './resolve/entries/entry-limits.js';
export * from './resolve/entries/normalize-catalog.js';
export * from './resolve/entries/read-entry.js';
export * from './resolve/entries/split-entries.js';
export * from './resolve/near-functions.js';
export * from './resolve/pin-runtime.js';
export * from './resolve/plan-release.js';
export * from './resolve/plan-resolve.js';
export * from './resolve/signed-version.js';
export type { PinnedContainer } from './runtimes/container.js';
export type { PinnedExec, PinnedPlatform } from './runtimes/exec.js';
export type { DeclaredProgram, PinnedProgram } from './runtimes/runtime.js';
export * from './runtimes/runtimes.js';
export type { PinnedStarlark, ScriptPin } from './runtimes/starlark.js';
export { SETTINGS_CODES, type SettingsCode } from './settings/codes.js';
export { readSettings } from './settings/read-settings.js';
export * from './settings/settings.js';
export * from './snapshot/build-catalog.js';
export * from './snapshot/candidates.js';
export * from './snapshot/entry.js';
export * from './snapshot/render-snapshot.js';
export * from './snapshot/report-sources.js';
export * from './snapshot/segments.js';
export * from './snapshot/select-function.js';
export * from './snapshot/split-catalog.js';
export { readTrust } from './trust/read-trust.js';
export * from './trust/trust.js';
export * from './upstream/evaluate-copy.js';
export * from './upstream/plan-refresh.js';
export * from './upstream/read-upstream.js';
export * from './upstream/reading.js';
