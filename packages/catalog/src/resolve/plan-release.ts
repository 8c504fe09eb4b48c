import type { Digest } from '@krmhub/schema';
import { compareReleases } from '@krmhub/schema/release';
import { isInReleaseRange } from '../policy/release-range.js';
import type { ReleaseRule } from '../settings/settings.js';

/** A release in the history of a catalog, for one API version of a function. */
export interface HistoryRelease {
  release: string;
  /** Digest of the exact bytes of its definition. */
  definition: Digest;
  /** Of the newest snapshot with it that can be read; absent if there is none. */
  serial?: number;
  /** By the time of the registry. */
  publishedAt: string;
  /** Reason. */
  yanked?: string;
}

export interface ReleasePlanInput {
  rule: ReleaseRule;
  /** What the newest snapshot has. */
  current: { release: string; definition: Digest };
  /** The release that was locked, which stays if it may. */
  locked?: string;
  /** Releases that were taken down. */
  takenDown: readonly string[];
  /** Use also a release that is too young. */
  ignoresAge: boolean;
  releases: readonly HistoryRelease[];
  now: Date;
}

/** A release that is too young, and when it no longer is. */
export interface YoungRelease {
  release: string;
  oldEnoughAt: string;
}

/** `young` are the releases above the chosen one that are too young, newest first. */
export type ReleasePlan = { young: YoungRelease[] } & (
  | { type: 'chosen'; release: HistoryRelease; isYoung: boolean }
  /** `inRange` are releases of the range that cannot be used, with the reason. */
  | { type: 'none'; inRange: { release: string; reason: string }[] }
  /** The registry no longer lists the locked release, and offers only older ones. */
  | { type: 'older'; release: string; locked: string }
);

/**
 * Chooses the newest release in the range that is not yanked, is old enough, and is in a snapshot that can be read.
 *
 * No release is newer than that of the newest snapshot: what the catalog no longer selects does not come back. A locked
 * release stays whatever its age, so that an upgrade never goes back, unless it was yanked.
 */
export function planRelease(input: ReleasePlanInput): ReleasePlan {
  const { rule, current, locked, takenDown, ignoresAge, releases, now } = input;
  const { range, minAge } = rule;
  const isAccepted = (release: string) => range === undefined || isInReleaseRange(release, range);
  const known = releases
    .filter(({ release }) => isAccepted(release) && compareReleases(release, current.release) <= 0)
    .sort((a, b) => compareReleases(b.release, a.release));
  const young: YoungRelease[] = [];
  const inRange: { release: string; reason: string }[] = [];
  for (const one of known) {
    const { release } = one;
    const oldEnoughAt = Date.parse(one.publishedAt) + (minAge?.seconds ?? 0) * 1_000;
    // A time that cannot be read is never old enough.
    const isYoung = minAge !== undefined && !(oldEnoughAt <= now.getTime());
    if (one.yanked !== undefined) inRange.push({ release, reason: `yanked: ${one.yanked}` });
    else if (one.serial === undefined) inRange.push({ release, reason: 'in no snapshot that can be read' });
    else if (isYoung && !ignoresAge && release !== locked) {
      const at = formatTime(oldEnoughAt);
      young.push({ release, oldEnoughAt: at });
      inRange.push({ release, reason: `too new: old enough at ${at}` });
    } else {
      if (locked !== undefined && hidesNewer(locked, release))
        return { type: 'older', release, locked, young };
      return { type: 'chosen', release: one, isYoung, young };
    }
  }
  return { type: 'none', inRange, young };

  /** A registry may take back the locked release, and then says so. */
  function hidesNewer(last: string, release: string): boolean {
    if (!isAccepted(last) || compareReleases(release, last) >= 0) return false;
    if (compareReleases(last, current.release) > 0) return false;
    return !takenDown.includes(last) && !known.some((one) => one.release === last);
  }
}

function formatTime(milliseconds: number): string {
  if (!Number.isFinite(milliseconds) || Math.abs(milliseconds) > 8.64e15) return 'an unknown time';
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');
}
