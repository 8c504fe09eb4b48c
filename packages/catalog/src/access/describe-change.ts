import type { FunctionName } from '@krmhub/schema';
import { plural } from '@krmhub/schema/text';
import type { AccessChange, ComparedActor, TeamEnd } from './compare-access.js';

/** What an upgraded registry says until an administrator closes it. */
export const EVERY_GROUP_IS_OPEN =
  'every token with the scope publish for all groups may begin new groups, as before krmhub had access rules; ' +
  'to close the registry, remove "*" from openGroups: krmhub access show > access.yaml; krmhub access apply access.yaml';

/** A change of access in words. */
export interface DescribedChange {
  /** For example `no longer: publish on a.example.com`. */
  right: string;
  /** Who gains or loses it. */
  actors: string;
  /** Why an actor loses it, if a new owner is the reason. */
  reason?: string;
}

/** Describes a change for administrators. The texts contain names as they are stored. */
export function describeAccessChange(change: AccessChange): DescribedChange {
  const { actions, actors, actorCount, objects, objectCount, newOwner } = change;
  const isLoss = change.change === 'loses';
  const right = `${isLoss ? 'no longer' : 'now'}: ${actions.join(', ')} on ${listed(objects, objectCount)}`;
  const described = { right, actors: listed(actors.map(actorText), actorCount) };
  // An owner does not change who may read.
  const isOnlyRead = actions.every((action) => action === 'read');
  if (!isLoss || newOwner === undefined || isOnlyRead) return described;
  return { ...described, reason: `the team ${newOwner} now owns ${objectCount === 1 ? 'it' : 'them'}` };
}

const ENDS = {
  token: 'revokes the token',
  'trusted-publisher': 'removes the trusted publisher of',
  claim: 'ends the claim to',
} as const;

/** Describes what ends with a team. */
export function describeTeamEnd({ is, id, name, team }: TeamEnd): string {
  const what = id === undefined ? name : `${name} (${id.slice(0, 8)})`;
  return `${ENDS[is]} ${what} of the former team ${team}`;
}

/** What to do about the functions that snapshots show although they are hidden now. */
export const EXPOSED_STAYS =
  'earlier snapshots stay as they are, for everybody who can read the catalog; only a takedown removes a release from them';

/** Describes a function that snapshots of a catalog show to readers who may not read it. */
export function describeExposedFunction({
  catalog,
  group,
  kind,
  ...range
}: FunctionName & { catalog: string; from: number; to: number }): string {
  return `catalog ${catalog}: ${describeSnapshots(range)} ${group}/${kind}`;
}

/** For example `snapshots from 3 to 4 still contain`. */
export function describeSnapshots({ from, to }: { from: number; to: number }): string {
  return from === to ? `snapshot ${from} still contains` : `snapshots from ${from} to ${to} still contain`;
}

/**
 * Describes the catalogs, of which `behind` are the first, that may still have what is hidden now; undefined if all follow
 * the document.
 */
export function describeBehind({
  behind,
  behindCount = 0,
}: {
  behind?: readonly string[];
  behindCount?: number;
}): string | undefined {
  if (behind === undefined)
    return `the registry does not know whether its catalogs follow yet: ${LOOK_AGAIN}`;
  if (behindCount === 0) return undefined;
  return `${plural(behindCount, 'catalog')} may still have what is hidden now: ${listed(behind, behindCount)}; ${LOOK_AGAIN}`;
}

const LOOK_AGAIN =
  'apply the same document again to look; if a catalog stays behind, /readyz and the log say why its build fails';

/** Describes the size of a change: in how many ways rights change, of which `shown` are listed. */
export function accessChangeCount(count: number, shown: number): string {
  if (count === 0) return 'nobody gains or loses a right';
  return shown < count ? `the first ${shown} of ${count} changes` : plural(count, 'change');
}

function actorText({ is, name = '', id }: ComparedActor): string {
  switch (is) {
    case 'anonymous':
      return 'anonymous clients';
    case 'internal':
      return 'clients of internal networks';
    case 'team':
      return `team ${name}`;
    case 'user':
      return `user ${name}`;
    case 'token':
      return id === undefined ? `token ${name}` : `token ${name} (${id.slice(0, 8)})`;
  }
}

function listed(texts: readonly string[], count: number): string {
  const more = count - texts.length;
  return texts.join(', ') + (more > 0 ? `, and ${more} more` : '');
}
