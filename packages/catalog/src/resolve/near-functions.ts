import type { FunctionName } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';
import { compareApiVersions } from '@krmhub/schema/gvk';
import { editDistance } from '@krmhub/schema/suggest';

/** A function whose name may be the one that was meant. */
export interface NearFunction extends FunctionName {
  /** Its API versions; empty where they are unknown. */
  versions: readonly string[];
}

/** Suggestions for one misspelled name; more do not help. */
const MAX_NEAR = 5;
/** UTF-16 code units of a name that is compared by its letters: kinds have at most 63. */
const MAX_COMPARED_LENGTH = 64;

/**
 * Returns the functions with a similar name, the nearest first: the kind in another case, the same kind in another
 * group, and kinds that differ in a few letters. Linear in the number of functions.
 */
export function nearFunctions<Known extends FunctionName>(
  name: FunctionName,
  known: Iterable<Known>,
): Known[] {
  const found: { one: Known; rank: number }[] = [];
  for (const one of known) {
    const rank = rankName(name, one);
    if (rank === undefined) continue;
    found.push({ one, rank });
    // A catalog of a hostile server may have only similar names.
    if (found.length >= 20 * MAX_NEAR) found.sort(byRank).splice(MAX_NEAR);
  }
  return found
    .sort(byRank)
    .slice(0, MAX_NEAR)
    .map(({ one }) => one);
}

/** Formats functions as `APIVERSION KIND`, each once: other API versions of the same function first. */
export function describeNearFunctions(
  wanted: FunctionName & { version: string },
  near: readonly NearFunction[],
): string[] {
  const same = near.filter((one) => one.group === wanted.group && one.kind === wanted.kind);
  const others = nearFunctions(
    wanted,
    near.filter((one) => !same.includes(one)),
  );
  const lines = [...same, ...others].flatMap(({ group, kind, versions }) => {
    if (versions.length === 0) return [`${group}/${kind}`];
    const sorted = [...versions].sort(compareApiVersions);
    // Of another function, the API version that was meant, or else the most preferred one.
    const named =
      group === wanted.group && kind === wanted.kind ? sorted : [preferred(sorted, wanted.version)];
    return named.map((version) => `${group}/${version} ${kind}`);
  });
  return [...new Set(lines)].slice(0, MAX_NEAR);
}

function preferred(versions: readonly string[], wanted: string): string {
  return versions.includes(wanted) ? wanted : versions[0]!;
}

/** Lower is nearer; undefined for another name. */
function rankName({ group, kind }: FunctionName, other: FunctionName): number | undefined {
  const lower = kind.toLowerCase();
  const otherLower = other.kind.toLowerCase();
  const letters = lower === otherLower ? 0 : lettersBetween(lower, otherLower);
  if (letters === undefined) return undefined;
  if (other.group === group) return letters;
  // A misspelled group is nearer than a group of others.
  const groups = lettersBetween(group.toLowerCase(), other.group.toLowerCase());
  return letters + (groups === undefined ? 20 : Math.min(groups, 10));
}

/** The number of letters to change, if it is small for names of this length. */
function lettersBetween(a: string, b: string): number | undefined {
  const most = Math.max(1, Math.floor(Math.min(a.length, b.length) / 4));
  if (Math.abs(a.length - b.length) > most) return undefined;
  if (a.length > MAX_COMPARED_LENGTH || b.length > MAX_COMPARED_LENGTH) return undefined;
  const letters = editDistance(a, b);
  return letters <= most ? letters : undefined;
}

function byRank(a: { one: FunctionName; rank: number }, b: { one: FunctionName; rank: number }): number {
  return a.rank - b.rank || compareText(a.one.group, b.one.group) || compareText(a.one.kind, b.one.kind);
}
