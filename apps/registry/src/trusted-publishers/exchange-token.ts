/**
 * Publishing from CI without a stored secret: a workflow shows the token that its provider signed about its run, and
 * gets one of the registry for some minutes.
 *
 * Owners say which workflows may do so (manage-publishers.ts). The token of a provider is verified
 * (verify-identity-token.ts) with the keys of its issuer (issuer-keys.ts), compared with the publishers
 * (packages/catalog/src/access/trusted-publishers/), and counts once.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import {
  addCommand,
  breaksOnlyRules,
  checkClaims,
  describeProblem,
  describeRun,
  describeWorkflow,
  pinned,
  publisherTarget,
  type SourceReader,
  type TokenRecord,
  type TrustedPublisher,
  type TrustedPublisherStore,
} from '@krmhub/catalog';
import { KrmhubError, type RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { HINT_UNREADABLE_ACCESS } from '../http/auth/authorize.js';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import type { IssuerKeys } from './issuer-keys.js';
import {
  type ComparedPublisher,
  describeClaimedWorkflow,
  describeRefusal,
  publisherComparison,
} from './publisher-rights.js';
import { type IdentityToken, verifyIdentityToken } from './verify-identity-token.js';

export interface ExchangeDeps {
  store: TrustedPublisherStore & SourceReader;
  access: KnownAccess;
  issuerKeys: IssuerKeys;
  clock: () => Date;
  config: { publicUrl?: string };
}

/** Milliseconds for which the token of a workflow can be used. */
const LIFE_MILLISECONDS = 900_000;
/** Milliseconds for which a run is told that its publisher ended. Later, its issuer is not asked for keys any more. */
const TOLD_MILLISECONDS = 30 * 86_400_000;

/** Returns the audience for which this registry takes tokens: its URL, so that no token is for two registries. */
export function registryAudience({ config: { publicUrl } }: ExchangeDeps): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  throw new KrmhubError('conflict', 'the registry does not know its public URL', {
    hint: 'The operator sets KRMHUB_PUBLIC_URL: tokens of CI providers name it.',
  });
}

/**
 * Exchanges a token of a provider for one of the registry, for all that the run may publish, of `groups` if they are
 * given. Rejects with `unauthorized`, `forbidden`, `conflict`, or `unavailable`; the message says which claim is not as
 * which publisher wants it.
 */
export async function exchangeToken(
  deps: ExchangeDeps,
  { token: text, groups }: { token: string; groups?: readonly string[] | undefined },
  origin: RequestOrigin,
): Promise<{ token: TokenRecord; secret: string }> {
  const { store, clock } = deps;
  const now = clock();
  const audience = registryAudience(deps);
  const compare = publisherComparison(deps);
  const identity = await verifyIdentityToken(text, {
    publishers: (of, groups) => store.publishersOfToken({ ...of, at: now.toISOString() }, groups),
    issuerTeams: (issuer) => store.issuerTeams({ issuer, since: toldSince(now) }),
    compare,
    groups,
    audience,
    keys: deps.issuerKeys,
    now,
  });
  const all = await compare([...identity.publishers, ...identity.others], identity.claims);
  const compared = all.slice(0, identity.publishers.length);
  const others = all.slice(identity.publishers.length);
  if (identity.isServed && !compared.some(accepts)) await refuseEnded(deps, identity, groups);
  const matching = usable(deps, compared, identity, groups);
  const accepting = others.filter((one) => one.decision.allowed && accepts(one));
  refuseSeveralTeams([...matching, ...accepting.map(({ publisher }) => publisher)]);
  refuseManyGroups(matching);
  const secret = newSecret();
  const token = workflowToken(matching, identity, now);
  const outcome = await store.exchangeToken({
    used: {
      ...{ issuer: identity.issuer, key: identity.key },
      ...{ issuedAt: identity.issuedAt.toISOString(), until: identity.usableUntil.toISOString() },
    },
    publishers: matching.map((one) => ({ id: one.id, pins: pinned(one, identity.claims) })),
    token,
    hash: hashSecret(secret),
    origin,
  });
  if (outcome === 'done') return { token, secret };
  throw REFUSED_EXCHANGES[outcome];
}

const REFUSED_EXCHANGES = {
  used: new KrmhubError('unauthorized', 'the identity token was exchanged before', {
    hint: 'Each token of a provider counts once. Request another one in the same job; in GitLab, by another name in `id_tokens`.',
  }),
  forgotten: new KrmhubError(
    'unauthorized',
    'the registry was restored from a backup after the identity token was issued, so it may have been exchanged before',
    { hint: 'Run the job again, or request another token in it.' },
  ),
  changed: new KrmhubError('conflict', 'the trusted publisher was changed meanwhile', {
    hint: 'Run the job again.',
  }),
};

/** Whether the claims of a run are as a publisher wants them. */
function accepts({ problems }: ComparedPublisher): boolean {
  return problems.length === 0;
}

/** Returns the publishers that accept a run. Rejects with `forbidden` if there is none. */
function matchingPublishers(
  compared: readonly ComparedPublisher[],
  { claims, issuer }: IdentityToken,
  groups: readonly string[] | undefined,
): ComparedPublisher[] {
  const matching = compared.filter(accepts);
  if (matching.length > 0) return matching;
  const [closest] = [...compared].sort((a, b) => a.problems.length - b.problems.length);
  if (closest === undefined) {
    const where = groups === undefined ? '' : ` of ${groups.join(', ')}`;
    const group = groups?.[0] ?? 'GROUP';
    // Publishers may be hidden.
    const who = describeClaimedWorkflow(issuer, claims);
    throw new KrmhubError('forbidden', `no trusted publisher${where} is ${who}`, {
      hint: `An owner of the group adds the workflow: ${addCommand(group, { issuer, claims })}. To see those that exist: krmhub publisher list ${group}`,
    });
  }
  const { publisher, problems } = closest;
  const target = publisherTarget(publisher);
  throw new KrmhubError(
    'forbidden',
    `the workflow is not the trusted publisher of ${target}: ${problems.map(describeProblem).join('; ')}`,
    {
      hint: breaksOnlyRules(publisher, problems)
        ? 'Run it as expected: this holds for every publisher of the provider.'
        : `Run it as expected. If the publisher is wrong, an owner of the group replaces it: ${replaceCommands(publisher)}`,
    },
  );
}

/**
 * Rejects with `unauthorized` for a run whose publisher ended because nothing used it in time. Only the issuer says that a
 * run is of its source, which alone may know.
 */
async function refuseEnded(
  { store, clock }: ExchangeDeps,
  { issuer, claims }: IdentityToken,
  groups: readonly string[] | undefined,
): Promise<void> {
  const now = clock();
  const of = { issuer, at: now.toISOString(), since: toldSince(now) };
  const all = await store.endedPublishers(of, groups);
  const ended = all.find((one) => checkClaims(one, claims).length === 0);
  if (ended === undefined) return;
  const target = publisherTarget(ended);
  const why = `the trusted publisher of ${target} expired at ${ended.pendingUntil} because no run used it in time`;
  throw new KrmhubError('unauthorized', `the identity token is refused: ${why}`, {
    hint: `An owner of the group adds it again: ${addCommand(target, { issuer, claims })}`,
  });
}

function toldSince(now: Date): string {
  return new Date(now.getTime() - TOLD_MILLISECONDS).toISOString();
}

/**
 * Returns the publishers that accept a run, and whose team still may publish. Only if there is none with that right, the
 * others say why: the owner of a group can change its own.
 */
function usable(
  { access: { rules } }: ExchangeDeps,
  compared: readonly ComparedPublisher[],
  identity: IdentityToken,
  groups: readonly string[] | undefined,
): TrustedPublisher[] {
  const allowed = compared.filter(({ decision }) => decision.allowed);
  const found = matchingPublishers(allowed.length > 0 ? allowed : compared, identity, groups);
  if (allowed.length === 0) {
    const refused = found[0]!;
    const message = describeRefusal(refused)!;
    if (rules.isUnreadable) throw new KrmhubError('forbidden', message, { hint: HINT_UNREADABLE_ACCESS });
    throw new KrmhubError('forbidden', message, {
      hint: `The group has another owner now, who replaces the publisher: ${replaceCommands(refused.publisher)}`,
    });
  }
  return found.map(({ publisher }) => publisher);
}

/** A token has the rights of one team, and of which one must not depend on whether an issuer answers. */
function refuseSeveralTeams(found: readonly TrustedPublisher[]): void {
  if (new Set(found.map(({ team }) => team)).size === 1) return;
  const [first, ...others] = [...new Set(found.map(({ group }) => group))];
  if (others.length === 0) {
    throw new KrmhubError('conflict', `the workflow is a trusted publisher of ${first} for several teams`, {
      hint: `Keep the one of the owner, and remove the others: krmhub publisher list ${first}`,
    });
  }
  throw new KrmhubError('conflict', 'the workflow is a trusted publisher of groups of several owners', {
    hint: 'Publish the functions of each owner with a command of its own. Other clients name the groups in `groups`.',
  });
}

/** Each decision about a request looks at what its token is for, so it is limited as in all tokens. */
function refuseManyGroups(publishers: readonly TrustedPublisher[]): void {
  const { size } = new Set(publishers.map(publisherTarget));
  if (size <= REQUEST_LIMITS.maxTokenLimits) return;
  throw new KrmhubError(
    'conflict',
    `the workflow is a trusted publisher of ${size} groups or functions; a token is for at most ${REQUEST_LIMITS.maxTokenLimits}`,
    { hint: 'Name what it will publish, as krmhub publish does: `groups`.' },
  );
}

function replaceCommands(publisher: TrustedPublisher): string {
  return `krmhub publisher remove ${publisher.id}, then krmhub publisher add ${publisherTarget(publisher)}`;
}

function workflowToken(
  publishers: readonly TrustedPublisher[],
  { claims }: IdentityToken,
  now: Date,
): TokenRecord {
  const { team } = publishers[0]!;
  const run = describeRun(publishers[0]!, claims);
  const name = describeWorkflow(run);
  return {
    id: randomUUID(),
    name,
    scopes: ['publish'],
    groups: [...new Set(publishers.map(publisherTarget))],
    repositories: [],
    run,
    createdAt: now.toISOString(),
    createdBy: name,
    expiresAt: new Date(now.getTime() + LIFE_MILLISECONDS).toISOString(),
    ...defined({ team }),
  };
}
