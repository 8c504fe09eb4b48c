import semver from 'semver';

export type ReleaseRange = { ok: true; range: string } | { ok: false; reason: string; hint?: string };

/**
 * Parses an npm semver range. A comma means "and", as in ranges of Helm and kpt. It rejects `!=`, which npm does not
 * support; `exclude` or two ranges express the same.
 */
export function readReleaseRange(text: string): ReleaseRange {
  if (text.includes('!')) {
    return {
      ok: false,
      reason: `the range "${text}" contains "!=", which is not supported`,
      hint: 'Exclude a release with two ranges: `<1.4.0 || >1.4.0`.',
    };
  }
  if (text.split(',').some((part) => part.trim() === '')) {
    return { ok: false, reason: `the range "${text}" has an empty part next to a comma` };
  }
  const range = semver.validRange(text.replaceAll(',', ' '));
  return range === null ? { ok: false, reason: `"${text}" is not a release range` } : { ok: true, range };
}

/** Reports whether a release is in a range that `readReleaseRange` accepts. A pre-release only if the range names one. */
export function isInReleaseRange(release: string, text: string): boolean {
  const read = readReleaseRange(text);
  return read.ok && semver.satisfies(release, read.range);
}
