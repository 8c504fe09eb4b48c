import {
  can,
  type DefinitionMediaType,
  definitionFile,
  type FunctionReader,
  findEncodedLabel,
  findSimilarKind,
  type LookAlike,
  lookAlikeFinder,
  type OwnerClaimReader,
  publishDiagnostic,
} from '@krmhub/catalog';
import { type Diagnostic, type FunctionName, KrmhubError, matchesGlob } from '@krmhub/schema';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';
import type { Turns } from '../workers/locks/turns.js';

/** The part after the last label with a `*`, if it has a dot: a whole group, or `example.com` of `*.example.com`. */
const DOMAIN_OF_PATTERN = /^(?:.*\*[^.]*\.)?([^*.]+\.[^*]+)$/;

/** Groups that are compared in one turn of the event loop. */
const GROUPS_PER_TURN = 200;

export interface ReviewDeps {
  store: FunctionReader & OwnerClaimReader;
  access: KnownAccess;
  turns: Turns;
}

/**
 * Reviews the name of a function without releases. `kinds` are those of its group. Rejects with `forbidden` if its group
 * has no function yet and looks like another group, unless an administrator publishes it: then the group exists, and is
 * not reviewed again. Returns a warning for a kind that is similar to another one of the group. Only for a new group, it
 * is linear in the groups.
 */
export async function reviewName(
  deps: ReviewDeps,
  { group, kind, kinds }: FunctionName & { kinds: readonly string[] },
  { isAdministrator, mediaType }: { isAdministrator: () => boolean; mediaType: DefinitionMediaType },
): Promise<Diagnostic[]> {
  const similar = findSimilarKind(kind, kinds);
  if (similar !== undefined) {
    const message = `the group ${group} has the similar kind ${similar}`;
    const path = ['spec', 'names', 'kind'];
    return [publishDiagnostic('publish/similar-kind', definitionFile(mediaType), message, path)];
  }
  if (kinds.length > 0 || isAdministrator()) return [];
  const reason = await reasonToReview(deps, group);
  if (reason === undefined) return [];
  throw new KrmhubError('forbidden', `the group "${group}" ${reason}`, {
    hint: 'Check the spelling. If the group is meant, ask an administrator to publish its first release: every token for the group can publish the next ones.',
  });
}

/** Reports whether a message says that `reviewName` rejected a function of the group. */
export function isNameReview(message: string, group: string): boolean {
  const of = `the group "${group}" `;
  return message.startsWith(of) && REASON.test(message.slice(of.length));
}

const REASON = /^(?:looks like |has the label )/;

async function reasonToReview(deps: ReviewDeps, group: string): Promise<string | undefined> {
  const encoded = findEncodedLabel(group);
  if (encoded !== undefined) return `has the label "${encoded}", which encodes letters of another alphabet`;
  const found = await findLookAlike(deps, group);
  if (found === undefined) return undefined;
  // The name of a group that the publisher cannot read is not told.
  const isReadable = can(deps.access.rules, currentActor(), 'read', { group: found.group }).allowed;
  const isClaimed = (await deps.store.ownerClaims()).some((claim) => claim.group === found.group);
  const isSeen = (isClaimed && isReadable) || (await deps.store.kinds(found.group)).length > 0;
  return isSeen ? `looks like the group "${found.group}": ${found.reason}` : 'looks like another group';
}

/**
 * Compares a group with those that have functions, with those whose owner proved them, and with those that the Access
 * document gives to a team, also by patterns that other groups match.
 */
async function findLookAlike(
  { store, access, turns }: ReviewDeps,
  group: string,
): Promise<LookAlike | undefined> {
  const claimed = (await store.ownerClaims()).map((claim) => claim.group);
  const given = access.rules.document.groups.flatMap(({ owner, pattern }) =>
    owner === undefined || matchesGlob(pattern, group) ? [] : (DOMAIN_OF_PATTERN.exec(pattern)?.[1] ?? []),
  );
  const groups = [...new Set([...(await store.groups()), ...claimed, ...given])];
  for (let at = 0; at < groups.length; at += GROUPS_PER_TURN) {
    const some = groups.slice(at, at + GROUPS_PER_TURN);
    const found = await turns.run(() => lookAlikeFinder(some)(group));
    if (found !== undefined) return found;
  }
  return undefined;
}
