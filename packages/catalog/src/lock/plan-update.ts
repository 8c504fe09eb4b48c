import { canonicalRelease, compareReleases, isPrerelease } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { fullRepository, parseImageReference } from '@krmhub/schema/image-reference';
import {
  type HistoryRelease,
  planRelease,
  type ReleasePlan,
  type ReleasePlanInput,
} from '../resolve/plan-release.js';

/** A release that snapshots of a catalog have, as a registry lists it. */
export interface ListedRelease {
  release: string;
  /** Digest of its definition. */
  digest: Digest;
  publishedAt: string;
  yanked?: { reason: string } | undefined;
  /** The API versions for which the catalog selected it, with serials; `last` is absent if the newest snapshot has it. */
  served: readonly { version: string; first: number; last?: number; serial?: number }[];
}

/** What is locked, and what an upgrade would have to satisfy. */
export interface UsedFunction {
  /** API version of the functionConfig. */
  version: string;
  /** Digest of the locked definition. */
  definition?: Digest | undefined;
  rule?: ReleasePlanInput['rule'] | undefined;
  /** Releases that were taken down. */
  takenDown?: readonly string[] | undefined;
  /** The only snapshot that may be used. */
  snapshot?: number | undefined;
  now: Date;
}

export interface PlannedUpdate<Release> {
  /** The locked release, if the catalog had it. */
  locked?: Release;
  /** The one that would be locked now. */
  wanted?: Release;
  /** The newest one that is not yanked; a pre-release only if the locked or the wanted one is. */
  newest?: Release;
  /** How the rule was applied. */
  choice?: ReleasePlan;
}

/**
 * Plans what the history of a catalog says of a function. The wanted release is that of the newest snapshot, or the
 * newest one that the rule allows.
 */
export function planUpdate<Release extends ListedRelease>(
  used: UsedFunction,
  releases: readonly Release[],
): PlannedUpdate<Release> {
  const known = releases.filter(({ release }) => canonicalRelease(release) === release);
  const locked = known.find(({ digest }) => digest === used.definition);
  const current = known.find(({ served }) =>
    served.some((one) => one.version === used.version && isInSnapshot(one, used.snapshot)),
  );
  const choice = current && chooseByRule(used, current, locked, known);
  const wanted =
    choice === undefined
      ? current
      : known.find(({ digest }) => choice.type === 'chosen' && digest === choice.release.definition);
  const allowsPrerelease = [locked, wanted].some((one) => one !== undefined && isPrerelease(one.release));
  const newest = known
    .filter(({ release, yanked }) => yanked === undefined && (allowsPrerelease || !isPrerelease(release)))
    .reduce<Release | undefined>(
      (best, one) => (best === undefined || compareReleases(one.release, best.release) > 0 ? one : best),
      undefined,
    );
  return defined({ locked, wanted, newest, choice }) as PlannedUpdate<Release>;
}

function isInSnapshot(
  { first, last }: ListedRelease['served'][number],
  snapshot: number | undefined,
): boolean {
  if (snapshot === undefined) return last === undefined;
  return first <= snapshot && (last === undefined || last >= snapshot);
}

function chooseByRule<Release extends ListedRelease>(
  { version, rule, takenDown = [], snapshot, now }: UsedFunction,
  current: Release,
  locked: Release | undefined,
  known: readonly Release[],
): ReleasePlan | undefined {
  if (rule === undefined) return undefined;
  const usable = snapshot === undefined ? known : [current];
  return planRelease({
    rule,
    current: { release: current.release, definition: current.digest },
    ...defined({ locked: locked?.release }),
    takenDown,
    ignoresAge: false,
    releases: usable.flatMap((one) => historyReleases(one, version)),
    now,
  });
}

function historyReleases({ served, ...one }: ListedRelease, version: string): HistoryRelease[] {
  const { release, digest: definition, publishedAt, yanked } = one;
  return served.flatMap(({ version: name, serial }) =>
    name === version
      ? { release, definition, publishedAt, ...defined({ serial, yanked: yanked?.reason }) }
      : [],
  );
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
