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
import {
  can,
  checkClaims,
  describeProblem,
  describeRun,
  isPending,
  namesSource,
  pinned,
  provider,
  publisherTarget,
  type SourceReader,
  type TokenRecord,
  type TrustedPublisher,
  type TrustedPublisherStore,
  tokenActor,
} from '@krmhub/catalog';
import { KrmhubError, type RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import type { IssuerKeys } from './issuer-keys.js';
import { type IdentityToken, verifyIdentityToken } from './verify-identity-token.js';

export interface ExchangeDeps {
  store: TrustedPublisherStore & Pick<SourceReader, 'ownedGroups'>;
  access: KnownAccess;
  issuerKeys: IssuerKeys;
  clock: () => Date;
  config: { publicUrl?: string };
}

/** Milliseconds for which the token of a workflow can be used. */
const LIFE_MILLISECONDS = 900_000;

/** Returns the audience for which this registry takes tokens: its URL, so that no token is for two registries. */
export function registryAudience({ config: { publicUrl } }: Pick<ExchangeDeps, 'config'>): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  throw new KrmhubError('conflict', 'the registry does not know its public URL', {
    hint: 'The operator sets KRMHUB_PUBLIC_URL: tokens of CI providers name it.',
  });
}

/**
 * Exchanges a token of a provider for one of the registry, for all that the run may publish. Rejects with
 * `unauthorized`, `forbidden`, or `unavailable`; the message says which claim is not as which publisher wants it.
 */
export async function exchangeToken(
  deps: ExchangeDeps,
  text: string,
  origin: RequestOrigin,
): Promise<{ token: TokenRecord; secret: string }> {
  const { store, clock } = deps;
  const now = clock();
  const audience = registryAudience(deps);
  const known = (await store.trustedPublishers()).filter((publisher) => !isExpired(publisher, now));
  const identity = await verifyIdentityToken(text, {
    publishers: known,
    audience,
    keys: deps.issuerKeys,
    now,
  });
  const matching = await usable(deps, matchingPublishers(identity), identity);
  const secret = newSecret();
  const token = workflowToken(matching, identity, now);
  const outcome = await store.exchangeToken({
    used: { issuer: identity.issuer, key: identity.key, until: identity.usableUntil.toISOString() },
    publishers: matching.map((one) => ({ id: one.id, pins: pinned(one, identity.claims) })),
    token,
    hash: hashSecret(secret),
    origin,
  });
  if (outcome === 'done') return { token, secret };
  throw outcome === 'used'
    ? new KrmhubError('unauthorized', 'the identity token was exchanged before', {
        hint: 'Each token of a provider counts once. Request another one in the same job.',
      })
    : new KrmhubError('conflict', 'the trusted publisher was changed meanwhile', {
        hint: 'Run the job again.',
      });
}

function isExpired(publisher: TrustedPublisher, now: Date): boolean {
  return isPending(publisher) && publisher.pendingUntil! <= now.toISOString();
}

function matchingPublishers({ publishers, claims }: IdentityToken): TrustedPublisher[] {
  const compared = publishers.map((publisher) => ({ publisher, problems: checkClaims(publisher, claims) }));
  const matching = compared.filter(({ problems }) => problems.length === 0);
  if (matching.length > 0) return matching.map(({ publisher }) => publisher);
  // What publishers want is told to their own workflows only.
  const [closest] = compared
    .filter(({ publisher }) => namesSource(publisher, claims))
    .sort((a, b) => a.problems.length - b.problems.length);
  const run = describeRun(publishers[0]!.provider, claims);
  if (closest === undefined) {
    throw new KrmhubError('forbidden', `no trusted publisher is ${JSON.stringify(run.workflow)}`, {
      hint: 'An owner of the group adds the workflow: krmhub publisher add.',
    });
  }
  const { publisher, problems } = closest;
  const target = publisherTarget(publisher);
  throw new KrmhubError(
    'forbidden',
    `the workflow is not the trusted publisher of ${target}: ${problems.map(describeProblem).join('; ')}`,
    {
      hint: `Change the workflow, or the publisher ${publisher.id}: krmhub publisher list ${publisher.group}`,
    },
  );
}

/** Returns the publishers whose team still may publish. A token has one team: that of the first publisher. */
async function usable(
  { store, access: { rules } }: ExchangeDeps,
  publishers: readonly TrustedPublisher[],
  identity: IdentityToken,
): Promise<TrustedPublisher[]> {
  const { team } = publishers[0]!;
  const ofTeam = publishers.filter((publisher) => publisher.team === team);
  const known = await store.ownedGroups([...new Set(ofTeam.map(({ group }) => group))]);
  const run = describeRun(publishers[0]!.provider, identity.claims);
  let lacks: readonly string[] = [];
  const found = ofTeam.filter((publisher) => {
    const groups = [publisherTarget(publisher)];
    const actor = tokenActor({
      name: '',
      scopes: ['publish'],
      groups,
      repositories: [],
      run,
      ...defined({ team }),
    });
    const { group, kind } = publisher;
    const decision = can(rules, actor, 'publish', { group, ...defined({ kind }), isNew: !known.has(group) });
    if (!decision.allowed) lacks = decision.lacks;
    return decision.allowed;
  });
  if (found.length > 0) return found;
  const target = publisherTarget(publishers[0]!);
  throw new KrmhubError('forbidden', `the trusted publisher of ${target} lacks ${lacks.join(' and ')}`, {
    hint: 'The group has another owner now. Its owner adds the workflow again: krmhub publisher add.',
  });
}

function workflowToken(
  publishers: readonly TrustedPublisher[],
  { claims }: IdentityToken,
  now: Date,
): TokenRecord {
  const { provider: name, team } = publishers[0]!;
  const run = describeRun(name, claims);
  return {
    id: randomUUID(),
    name: `${run.workflow} (${provider(name).title})`,
    scopes: ['publish'],
    groups: [...new Set(publishers.map(publisherTarget))],
    repositories: [],
    run,
    createdAt: now.toISOString(),
    createdBy: `${run.workflow} (${provider(name).title})`,
    expiresAt: new Date(now.getTime() + LIFE_MILLISECONDS).toISOString(),
    ...defined({ team }),
  };
}
