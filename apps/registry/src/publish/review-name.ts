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
  type OwnerClaimRecord,
  ownedNames,
  publishDiagnostic,
  type SourceReader,
  type TokenRecord,
} from '@krmhub/catalog';
import { type Diagnostic, type FunctionName, KrmhubError, matchesGlob } from '@krmhub/schema';
import { isAdministrator } from '../http/auth/authorize.js';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';
import type { Turns } from '../workers/locks/turns.js';

/** Groups that are compared in one turn of the event loop. */
const GROUPS_PER_TURN = 200;

export interface ReviewDeps {
  store: FunctionReader & OwnerClaimReader & SourceReader;
  access: KnownAccess;
  turns: Turns;
}

/**
 * Reviews the name of a function without releases. `kinds` are those of its group. Rejects with `forbidden` if its group
 * has no function yet and looks like another group, or is one of an upstream catalog, unless an administrator publishes
 * it: then the group exists, and is not reviewed again. Returns a warning for a kind that is similar to another one of
 * the group. Only for a new group, it is linear in the groups.
 */
export async function reviewName(
  deps: ReviewDeps,
  { group, kind, kinds }: FunctionName & { kinds: readonly string[] },
  { token, mediaType }: { token: () => TokenRecord; mediaType: DefinitionMediaType },
): Promise<Diagnostic[]> {
  const similar = findSimilarKind(kind, kinds);
  if (similar !== undefined) {
    const message = `the group ${group} has the similar kind ${similar}`;
    const path = ['spec', 'names', 'kind'];
    return [publishDiagnostic('publish/similar-kind', definitionFile(mediaType), message, path)];
  }
  if (kinds.length > 0 || isAdministrator(deps.access.rules, token())) return [];
  const reason = await reasonToReview(deps, group, token());
  if (reason === undefined) return [];
  throw new KrmhubError('forbidden', `the group "${group}" ${reason}`, {
    hint:
      reason === IN_UPSTREAM
        ? 'Ask an administrator to publish its first release, to make your team its owner, or to create a token that names the group.'
        : 'Check the spelling. If the group is meant, ask an administrator to publish its first release: every token for the group can publish the next ones.',
  });
}

/** Reports whether a message says that `reviewName` rejected a function of the group. */
export function isNameReview(message: string, group: string): boolean {
  const of = `the group "${group}" `;
  return message.startsWith(of) && REASON.test(message.slice(of.length));
}

const IN_UPSTREAM = 'already exists in an upstream catalog';
const REASON = new RegExp(`^(?:looks like |has the label |${IN_UPSTREAM})`);

async function reasonToReview(
  deps: ReviewDeps,
  group: string,
  token: TokenRecord,
): Promise<string | undefined> {
  const encoded = findEncodedLabel(group);
  if (encoded !== undefined) return `has the label "${encoded}", which encodes letters of another alphabet`;
  const upstream = await upstreamCatalogs(deps.store);
  const catalogs = upstream.get(group);
  if (catalogs !== undefined && !isMeant(deps.access, group, token)) {
    // Otherwise, the entries of a catalog would be refused for the functions of the first publisher.
    return seesOne(deps.access, group, catalogs) ? IN_UPSTREAM : 'looks like another group';
  }
  const claims = await deps.store.ownerClaims();
  const found = await findLookAlike(deps, group, { upstream: upstream.keys(), claims });
  if (found === undefined) return undefined;
  // The name of a group that the publisher cannot read is not told.
  const isReadable = can(deps.access.rules, currentActor(), 'read', { group: found.group }).allowed;
  const isClaimed = claims.some((claim) => claim.group === found.group);
  const isSeen =
    (isClaimed && isReadable) ||
    seesOne(deps.access, found.group, upstream.get(found.group) ?? []) ||
    (await deps.store.kinds(found.group)).length > 0;
  return isSeen ? `looks like the group "${found.group}": ${found.reason}` : 'looks like another group';
}

/** Returns the catalogs with each group of an upstream source. */
async function upstreamCatalogs(store: ReviewDeps['store']): Promise<Map<string, string[]>> {
  const catalogs = new Map<string, string[]>();
  for await (const { catalog, group } of store.upstreamGroups())
    catalogs.set(group, [...(catalogs.get(group) ?? []), catalog]);
  return catalogs;
}

/** Whether the actor may read a group, and one of the catalogs that have it. */
function seesOne({ rules }: KnownAccess, group: string, catalogs: readonly string[]): boolean {
  const sees = (object: { group: string } | { catalog: string }) =>
    can(rules, currentActor(), 'read', object).allowed;
  return sees({ group }) && catalogs.some((catalog) => sees({ catalog }));
}

/**
 * Whether an administrator gave this very group to the publisher, or to a team, or its team proved it. Users choose the
 * groups of their own tokens.
 */
function isMeant({ rules }: KnownAccess, group: string, { groups, user }: TokenRecord): boolean {
  const isNamed = user === undefined && groups.some((name) => name.split('/', 1)[0] === group);
  return isNamed || rules.ownerOf(group) !== undefined;
}

/**
 * Compares a group with those that have functions, here or in an upstream catalog, with those whose owner proved them, and
 * with those that the Access document gives to a team, also by patterns that other groups match.
 */
async function findLookAlike(
  { store, access, turns }: ReviewDeps,
  group: string,
  { upstream, claims }: { upstream: Iterable<string>; claims: readonly OwnerClaimRecord[] },
): Promise<LookAlike | undefined> {
  const owned = ownedNames(access.rules.document.groups, claims)
    .filter(({ by }) => !matchesGlob(by, group))
    .map((one) => one.group);
  const groups = [...new Set([...(await store.groups()), ...owned, ...upstream])];
  for (let at = 0; at < groups.length; at += GROUPS_PER_TURN) {
    const some = groups.slice(at, at + GROUPS_PER_TURN);
    const found = await turns.run(() => lookAlikeFinder(some)(group));
    if (found !== undefined) return found;
  }
  return undefined;
}
