import { canonicalRelease, compareReleases, isPrerelease } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { fullRepository, parseImageReference } from '@krmhub/schema/image-reference';
import maxSatisfying from 'semver/ranges/max-satisfying.js';
import { readReleaseRange } from '../policy/release-range.js';

/** A release that snapshots of a catalog have. */
export interface CatalogHistoryRelease {
  release: string;
  /** Digest of its definition. */
  digest: Digest;
  yanked?: unknown;
  /** The API versions for which the catalog selected it, and the last snapshot; absent if it is the newest. */
  served: readonly { version: string; last?: number }[];
}

export interface PlannedUpdate<Release> {
  /** The locked release, if the catalog had it. */
  locked?: Release;
  /** The one that would be locked now. */
  wanted?: Release;
  /** The newest one that is not yanked; a pre-release only if the locked or the wanted one is. */
  newest?: Release;
}

/**
 * Plans what the history of a catalog says of a locked function. Without `choose`, the wanted release is the one of the
 * newest snapshot.
 */
export function planUpdate<Release extends CatalogHistoryRelease>(
  { version, definition }: { version: string; definition?: Digest | undefined },
  releases: readonly Release[],
  choose?: (releases: readonly Release[]) => Release | undefined,
): PlannedUpdate<Release> {
  const known = releases.filter(({ release }) => canonicalRelease(release) === release);
  const locked = known.find(({ digest }) => digest === definition);
  const isServed = ({ served }: Release) =>
    served.some((one) => one.version === version && one.last === undefined);
  const wanted = choose === undefined ? known.find(isServed) : choose(known);
  const allowsPrerelease = [locked, wanted].some((one) => one !== undefined && isPrerelease(one.release));
  const newest = known
    .filter(({ release, yanked }) => yanked === undefined && (allowsPrerelease || !isPrerelease(release)))
    .reduce<Release | undefined>(
      (best, one) => (best === undefined || compareReleases(one.release, best.release) > 0 ? one : best),
      undefined,
    );
  return defined({ locked, wanted, newest }) as PlannedUpdate<Release>;
}

/** Returns the newest release in an npm SemVer range that is not yanked; undefined also for another text. */
export function newestInRange<Release extends Pick<CatalogHistoryRelease, 'release' | 'yanked'>>(
  releases: readonly Release[],
  text: string,
): Release | undefined {
  const range = readReleaseRange(text);
  if (!range.ok) return undefined;
  const open = releases.flatMap(({ release, yanked }) => (yanked === undefined ? release : []));
  const found = maxSatisfying(open, range.range);
  return releases.find(({ release }) => release === found);
}

/** An image as a package names it, or a lock file. */
export interface RunImage {
  /** With its registry, or as container engines read it. */
  repository: string;
  tag?: string | undefined;
  digest?: string | undefined;
}

/** Finds the release with an image: by its digest, else by its tag. */
export function releaseOfImage<Release extends { images?: readonly string[] | undefined }>(
  releases: readonly Release[],
  { repository, tag, digest }: RunImage,
): Release | undefined {
  const name = fullRepository(repository);
  return releases.find(({ images = [] }) =>
    images.some((text) => {
      const reference = parseImageReference(text);
      if (!reference.ok || fullRepository(text) !== name) return false;
      if (digest !== undefined && reference.digest !== undefined) return reference.digest === digest;
      return tag !== undefined && reference.tag === tag;
    }),
  );
}
