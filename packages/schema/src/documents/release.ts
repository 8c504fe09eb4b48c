// The whole of semver is 40 files, which would be read at every start of the command line.
import type { SemVer } from 'semver';
import compare from 'semver/functions/compare.js';
import parse from 'semver/functions/parse.js';
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
  return compare(parsed(a), parsed(b));
}

/** Releases whose names stay parsed: sorting thousands parses each name many times. */
const MAX_PARSED = 20_000;
const parsedNames = new Map<string, SemVer | string>();

/** Returns the text itself if it is no version: `compare` throws a TypeError for it. */
function parsed(release: string): SemVer | string {
  const known = parsedNames.get(release);
  if (known !== undefined) return known;
  if (parsedNames.size >= MAX_PARSED) parsedNames.clear();
  const version = parse(release) ?? release;
  parsedNames.set(release, version);
  return version;
}

function isPrerelease(release: string): boolean {
  const version = parsed(release);
  return typeof version !== 'string' && version.prerelease.length > 0;
}

/** The highest release by precedence; a pre-release only where nothing else exists. Time never decides. */
export function newestRelease(releases: readonly string[]): string | undefined {
  const stable = releases.filter((release) => !isPrerelease(release));
  const candidates = stable.length > 0 ? stable : releases;
  return candidates.reduce<string | undefined>(
    (best, release) => (best === undefined || compareReleases(release, best) > 0 ? release : best),
    undefined,
  );
}
