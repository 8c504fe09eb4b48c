import semver from 'semver';

/**
 * The canonical name of a release: SemVer 2 without a leading `v`, short forms filled up (`v0.3` is `0.3.0`).
 * Undefined for what is no version, and for build metadata, which cannot stand in an OCI tag.
 */
export function canonicalRelease(text: string): string | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?$/.exec(text);
  if (match === null) return undefined;
  const [, major, minor = '0', patch = '0', prerelease = ''] = match;
  return semver.valid(`${major}.${minor}.${patch}${prerelease}`) ?? undefined;
}

/** SemVer precedence; both names are canonical. */
export function compareReleases(a: string, b: string): number {
  return semver.compare(a, b);
}

/** The highest release by precedence; a pre-release only where nothing else exists. Time never decides. */
export function newestRelease(releases: readonly string[]): string | undefined {
  const stable = releases.filter((release) => semver.prerelease(release) === null);
  const candidates = stable.length > 0 ? stable : releases;
  return candidates.reduce<string | undefined>(
    (best, release) => (best === undefined || semver.compare(release, best) > 0 ? release : best),
    undefined,
  );
}
