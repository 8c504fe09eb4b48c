import { type FunctionName, formatReplacement, KrmhubError, type Replacement } from '@krmhub/schema';
import semver from 'semver';
import { readReleaseRange } from '../policy/release-range.js';
import type { ReleaseSummary } from '../ports/records.js';

/**
 * Checks the replacement of a deprecated release: `known` are the releases of its function in this registry, undefined
 * if the function exists only in upstream catalogs. Throws `invalid-request` for an invalid range, for a range without
 * a release, and for a replacement that includes the deprecated release.
 */
export function checkReplacement(
  replacement: Replacement,
  deprecated: FunctionName & { release: string },
  known: readonly ReleaseSummary[] | undefined,
): void {
  const { group, kind, releases } = replacement;
  const invalid = (message: string, hint: string) =>
    new KrmhubError('invalid-request', `replacement ${formatReplacement(replacement)}: ${message}`, { hint });
  const range = releases === undefined ? undefined : readReleaseRange(releases);
  if (range?.ok === false) {
    throw invalid(range.reason, range.hint ?? 'Use a SemVer range, for example: ^2.0.0');
  }
  const matches = (release: string) => range === undefined || semver.satisfies(release, range.range);
  const isSameFunction = group === deprecated.group && kind.toLowerCase() === deprecated.kind.toLowerCase();
  if (isSameFunction && matches(deprecated.release)) {
    throw invalid(
      `it includes the deprecated release ${deprecated.release}`,
      `Use a range without ${deprecated.release}, for example: ${group}/${kind}@>${deprecated.release}`,
    );
  }
  const usable = known?.filter(({ yanked }) => yanked === undefined);
  if (usable === undefined || usable.some(({ release }) => matches(release))) return;
  throw invalid(
    'no release that is not yanked matches',
    `Publish the replacement first, or use a range with one of: ${
      usable
        .slice(0, 5)
        .map(({ release }) => release)
        .join(', ') || 'none yet'
    }`,
  );
}
