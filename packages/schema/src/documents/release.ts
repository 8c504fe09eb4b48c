// Importing all of semver would load 40 files at every start of the command line.
import type { SemVer } from 'semver';
import compare from 'semver/functions/compare.js';
import parse from 'semver/functions/parse.js';
import valid from 'semver/functions/valid.js';

/**
 * Returns the canonical release: SemVer 2 without a leading `v`, with missing parts (`v0.3` is `0.3.0`). Undefined for
 * text that is not a version, and for build metadata, which an OCI tag cannot contain.
 */
export function canonicalRelease(text: string): string | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?$/.exec(text);
  if (match === null) return undefined;
  const [, major, minor = '0', patch = '0', suffix = ''] = match;
  return valid(`${major}.${minor}.${patch}${suffix}`) ?? undefined;
}

/** Compares two canonical releases by SemVer precedence. */
export function compareReleases(a: string, b: string): number {
  return compare(parsed(a), parsed(b));
}

/** Number of cached parsed releases, because sorting parses each release many times. */
const MAX_PARSED = 20_000;
const parsedNames = new Map<string, SemVer | string>();

/** Returns the text itself if it is not a version, so that `compare` throws a TypeError. */
function parsed(release: string): SemVer | string {
  const known = parsedNames.get(release);
  if (known !== undefined) return known;
  if (parsedNames.size >= MAX_PARSED) parsedNames.clear();
  const version = parse(release) ?? release;
  parsedNames.set(release, version);
  return version;
}

/** Returns whether a release is a pre-release (semver.org, item 9). */
export function isPrerelease(release: string): boolean {
  const version = parsed(release);
  return typeof version !== 'string' && version.prerelease.length > 0;
}

/** Returns the highest release by precedence, and a pre-release only if there is no other. Time does not matter. */
export function newestRelease(releases: readonly string[]): string | undefined {
  const stable = releases.filter((release) => !isPrerelease(release));
  const candidates = stable.length > 0 ? stable : releases;
  return candidates.reduce<string | undefined>(
    (best, release) => (best === undefined || compareReleases(release, best) > 0 ? release : best),
    undefined,
  );
}
