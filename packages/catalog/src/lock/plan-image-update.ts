import { defined } from '@krmhub/schema/defined';
import { newestTag, parseVersion } from '@krmhub/schema/version-constraint';
import compare from 'semver/functions/compare.js';
import diff from 'semver/functions/diff.js';

/** How far a version is from another one, by SemVer; `other` if a text is no version, or the order is unusual. */
export type UpdateSize = 'major' | 'minor' | 'patch' | 'other';

const ANY = '*';
const ANY_PRERELEASE = '>=0.0.0-0';

/** Compares releases or tags; undefined if they are the same. */
export function updateSize(before: string, after: string): UpdateSize | undefined {
  if (before === after) return undefined;
  const [was, is] = [parseVersion(before), parseVersion(after)];
  if (was === undefined || is === undefined || compare(was, is) >= 0) return 'other';
  const size = diff(was, is) ?? 'other';
  const plain = size.replace(/^pre(?=.)/, '');
  return plain === 'major' || plain === 'minor' || plain === 'patch' ? plain : 'other';
}

/** An image as a package names it, and the tags of its repository. */
export interface NamedTag {
  tag?: string;
  /** Instead of a tag. */
  constraint?: string;
  /** The tag that the constraint meant when it was locked. */
  lockedTag?: string;
}

/** The tag that runs, the one that would be locked now, and the newest version. */
export interface ImageUpdate {
  current?: string;
  wanted?: string;
  newest?: string;
}

/**
 * Plans what tags say of an image. The newest is the highest version, a prerelease only if the current one is a
 * prerelease of a higher version than all others. Tags that are not versions, such as `latest`, are never the newest.
 */
export function planImageUpdate(
  { tag, constraint, lockedTag }: NamedTag,
  tags: readonly string[],
): ImageUpdate {
  const current = constraint === undefined ? tag : lockedTag;
  const wanted = constraint === undefined ? tag : newestTag(tags, constraint);
  const stable = newestTag(tags, ANY);
  const isAhead = current !== undefined && isPrerelease(current) && isHigher(current, stable);
  return defined({ current, wanted, newest: isAhead ? newestTag(tags, ANY_PRERELEASE) : stable });
}

/** Reports whether a tag is a higher version than another one. */
export function isHigher(tag: string, than: string | undefined): boolean {
  const [version, other] = [parseVersion(tag), than === undefined ? undefined : parseVersion(than)];
  return version !== undefined && (other === undefined || compare(version, other) > 0);
}

function isPrerelease(tag: string): boolean {
  return (parseVersion(tag)?.prerelease.length ?? 0) > 0;
}
