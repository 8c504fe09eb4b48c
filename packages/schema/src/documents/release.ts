// The whole of semver is 40 files, which would be read at every start of the command line.
import compare from 'semver/functions/compare.js';
import prerelease from 'semver/functions/prerelease.js';
import valid from 'semver/functions/valid.js';

/**
 * The canonical name of a release: SemVer 2 without a leading `v`, short forms filled up (`v0.3` is `0.3.0`).
 * Undefined for what is no version, and for build metadata, which cannot stand in an OCI tag.
 */
export function canonicalRelease(text: string): string | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?$/.exec(text);
  if (match === null) return undefined;
  const [, major, minor = '0', patch = '0', suffix = ''] = match;
  return valid(`${major}.${minor}.${patch}${suffix}`) ?? undefined;
}

/** SemVer precedence; both names are canonical. */
export function compareReleases(a: string, b: string): number {
  return compare(a, b);
}

/** The highest release by precedence; a pre-release only where nothing else exists. Time never decides. */
export function newestRelease(releases: readonly string[]): string | undefined {
  const stable = releases.filter((release) => prerelease(release) === null);
  const candidates = stable.length > 0 ? stable : releases;
  return candidates.reduce<string | undefined>(
    (best, release) => (best === undefined || compare(release, best) > 0 ? release : best),
    undefined,
  );
}
