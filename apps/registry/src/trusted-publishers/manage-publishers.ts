import { randomUUID } from 'node:crypto';
import {
  type AccessRules,
  actorName,
  type ClaimProblem,
  type Claims,
  type DecidedThrough,
  type Decision,
  isIssuerOf,
  isPublisherExpired,
  provider,
  publisherTarget,
  type TokenRecord,
  type TrustedPublisher,
} from '@krmhub/catalog';
import { KrmhubError, type RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import { isAdministrator, lackingRights, refuseLacking } from '../http/auth/authorize.js';
import type { CurrentAccess, DecidingStore } from '../http/auth/request-actor.js';
import { credentialText, isSignedIn } from '../http/auth/user-session.js';
import { type ExchangeDeps, registryAudience } from './exchange-token.js';
import { storedKeys } from './issuer-keys.js';
import { comparePublishers } from './publisher-rights.js';
import { formProblem, tokenProblems, withoutHint } from './token-problems.js';

/** Publishers of one group. */
const MAX_PUBLISHERS = 100;
/** Publishers of one team, which can own any number of groups: a token can name many of them. */
const MAX_OF_TEAM = 1_000;
/** Milliseconds in which a publisher must be used for the first time. */
const PENDING_MILLISECONDS = 30 * 86_400_000;

/** A publisher as it is asked for. */
export type WantedPublisher = Pick<TrustedPublisher, 'group' | 'provider' | 'settings'> & {
  kind?: string | undefined;
  issuer?: string | undefined;
  pins?: Readonly<Record<string, string>> | undefined;
  keys?: string | undefined;
};

type ManageDeps = Pick<ExchangeDeps, 'store' | 'access' | 'clock'>;

/** What adding a publisher needs besides: it decides by the rules as they are now. */
export interface AddingDeps {
  store: DecidingStore;
  access: CurrentAccess;
}

/**
 * Lets a workflow publish in a group, with the rights of the team that owns it now. Rejects with `forbidden` for who
 * does not own the group, and for a token that no user signed in to get, with `invalid-request` for settings that the provider
 * does not have, and with `conflict` for a publisher that exists.
 */
export function addPublisher(
  deps: ManageDeps & AddingDeps,
  wanted: WantedPublisher,
  token: TokenRecord,
  origin: RequestOrigin,
): Promise<TrustedPublisher> {
  return deps.access.decide(deps.store, (decided) => addDecided(deps, wanted, token, { origin, decided }));
}

async function addDecided(
  { store, access: { rules }, clock }: ManageDeps,
  wanted: WantedPublisher,
  token: TokenRecord,
  { origin, decided }: { origin: RequestOrigin; decided: DecidedThrough },
): Promise<TrustedPublisher> {
  const { group } = wanted;
  refuseLacking(rules, token, 'own', { group });
  refuseStored(rules, token);
  const now = clock();
  const publisher: TrustedPublisher = {
    id: randomUUID(),
    ...checkedWorkflow(wanted),
    createdAt: now.toISOString(),
    createdBy: actorName(token),
    pendingUntil: new Date(now.getTime() + PENDING_MILLISECONDS).toISOString(),
    ...defined({ team: rules.ownerOf(group)?.team }),
  };
  const review = (others: readonly TrustedPublisher[], ofTeam: number) => {
    refuseNextTo(publisher, others);
    refuseAbove(others.length, MAX_PUBLISHERS, 'group');
    refuseAbove(ofTeam, MAX_OF_TEAM, 'team');
  };
  await store.addTrustedPublisher(publisher, origin, review, decided);
  return publisher;
}

/**
 * Whether a token can add and remove publishers: a user signed in to get it, or it is of an administrator. A publisher
 * outlives the token that added it, so other tokens add none, which are copied to pipelines and scripts: who finds one
 * could publish after it was revoked.
 */
export function canChangePublishers(rules: AccessRules, token: TokenRecord): boolean {
  return isSignedIn(token) || isAdministrator(rules, token);
}

function refuseStored(rules: AccessRules, token: TokenRecord): void {
  if (canChangePublishers(rules, token)) return;
  const what = `${credentialText(token)} cannot change trusted publishers: no user signed in to get it`;
  const who =
    token.user === undefined
      ? 'An owner of the group signs in'
      : 'Sign in (again if you did so before the last upgrade)';
  throw new KrmhubError('forbidden', what, {
    hint: `${who} with \`krmhub login\` (without KRMHUB_TOKEN) or on the pages of the registry, or an administrator changes them.`,
  });
}

/** Throws `conflict` if the group has the publisher already. */
function refuseNextTo(publisher: TrustedPublisher, others: readonly TrustedPublisher[]): void {
  const wanted = sameness(publisher);
  const same = others.find((one) => sameness(one) === wanted && hasSameKeys(one, publisher));
  if (same === undefined) return;
  throw new KrmhubError('conflict', `${publisherTarget(same)} has this publisher: ${same.id}`, {
    hint: `It needs no second one. To change it, remove it first: krmhub publisher remove ${same.id}`,
  });
}

function refuseAbove(count: number, max: number, of: string): void {
  if (count < max) return;
  throw new KrmhubError('conflict', `the ${of} has ${count} publishers, the limit`, {
    hint: 'Remove those that are not used: krmhub publisher list, krmhub publisher remove ID.',
  });
}

/** Returns the publishers of a group for its owner, or all for an administrator. Rejects with `forbidden`. */
export async function listPublishers(
  { store, access: { rules } }: ManageDeps,
  group: string | undefined,
  token: TokenRecord,
): Promise<TrustedPublisher[]> {
  if (group === undefined && !isAdministrator(rules, token)) {
    throw new KrmhubError('forbidden', 'only an administrator can list the publishers of all groups', {
      hint: 'Name a group that you own: krmhub publisher list GROUP',
    });
  }
  if (group !== undefined) refuseLacking(rules, token, 'own', { group });
  return store.trustedPublishers(group === undefined ? undefined : { group });
}

/**
 * Compares claims with each publisher of a group, as an exchange does, without the signature and what is not among them.
 * Rejects with `forbidden` for who does not own the group.
 */
export async function checkPublishers(
  deps: ExchangeDeps,
  { group, claims }: { group: string; claims: Claims },
  token: TokenRecord,
): Promise<{ publisher: TrustedPublisher; problems: ClaimProblem[] }[]> {
  const now = deps.clock();
  const publishers = await listPublishers(deps, group, token);
  const standing = publishers.filter((publisher) => !isPublisherExpired(publisher, now));
  const compared = await comparePublishers(deps, standing, claims);
  const audience = deps.config.publicUrl === undefined ? undefined : registryAudience(deps);
  const ofAll = tokenProblems(claims, { audience, now });
  return compared.map(({ publisher, problems, decision }) => {
    const { iss } = claims;
    const found = typeof iss === 'string' ? iss : undefined;
    const { issuer: expected } = publisher;
    const isIssued = found === expected;
    const wrong = isIssued ? [] : [{ claim: 'iss', expected, ...defined({ found }) }];
    const form = formProblem(claims, provider(publisher.provider));
    const ofToken = form === undefined ? ofAll : [...ofAll, form];
    return {
      publisher,
      problems: [
        ...wrong,
        ...ofToken.map(withoutHint),
        ...problems,
        ...rightProblems(deps.access.rules, publisher, decision),
      ],
    };
  });
}

/** Returns what a publisher lacks whose team may not publish, or not any more. */
function rightProblems(rules: AccessRules, { team }: TrustedPublisher, decision: Decision): ClaimProblem[] {
  if (decision.allowed) return [];
  const instead = rules.isUnreadable
    ? 'the operator starts the version of krmhub that applied it, or a later one'
    : 'the owner of the group removes the publisher, and adds it again';
  const why = `it lacks ${decision.lacks.join(' and ')}; ${instead}`;
  return [{ claim: 'team', expected: 'one that may publish there', why, ...defined({ found: team }) }];
}

/**
 * Removes a publisher, and ends the tokens of its workflow. Rejects with `not-found`, and with `forbidden` for who does
 * not own its group, who is not told whether it exists, and for a token that no user signed in to get.
 */
export async function removePublisher(
  { store, access: { rules }, clock }: ManageDeps,
  id: string,
  token: TokenRecord,
  origin: RequestOrigin,
): Promise<void> {
  const [publisher] = await store.trustedPublishers({ id });
  const isOwn =
    publisher !== undefined && lackingRights(rules, token, 'own', { group: publisher.group }).length === 0;
  if (!isOwn) refuseLacking(rules, token, 'admin');
  refuseStored(rules, token);
  const act = { at: clock().toISOString(), by: actorName(token), origin };
  if (publisher === undefined || !(await store.removeTrustedPublisher(id, act))) {
    throw new KrmhubError('not-found', `trusted publisher ${id} not found`);
  }
}

/** Returns the same text for publishers of the same workflow: removing one must not leave another one. */
function sameness({ group, kind, provider: name, issuer, settings }: TrustedPublisher): string {
  const { settings: known } = provider(name);
  const sorted = Object.entries(settings)
    .map(([setting, value]) => [setting, known[setting]?.ignoresCase ? value.toLowerCase() : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([group, kind?.toLowerCase(), name, issuer, sorted]);
}

/** Earlier versions stored keys as they were given. */
function hasSameKeys({ keys: stored }: TrustedPublisher, { keys }: TrustedPublisher): boolean {
  if (stored === keys || stored === undefined || keys === undefined) return stored === keys;
  return checkedKeys(stored, []) === keys;
}

/** Returns the workflow of a request. Throws `invalid-request` with every problem of it. */
function checkedWorkflow(
  wanted: WantedPublisher,
): Pick<TrustedPublisher, 'group' | 'kind' | 'provider' | 'issuer' | 'settings' | 'pins' | 'keys'> {
  const { group, kind, provider: name, settings, pins = {}, keys } = wanted;
  const found = provider(name);
  const { title, issuer: usual, issuerExample, settings: known, pins: knownPins, takesKeys } = found;
  const problems = [
    ...unknownNames(settings, known, `settings of ${title}`),
    ...unknownNames(pins, knownPins, `IDs of ${title}`),
  ];
  for (const [setting, { isRequired, example, form }] of Object.entries(known)) {
    const value = settings[setting];
    if (isRequired && value === undefined) {
      problems.push(`the setting ${setting} is missing, for example ${example}`);
    }
    if (value !== undefined && form?.test(value) === false) {
      problems.push(
        `the setting ${setting} is ${JSON.stringify(value)}, expected a value such as ${example}`,
      );
    }
  }
  const issuer = wanted.issuer ?? usual;
  const example = issuerExample === undefined ? '' : `, for example ${issuerExample}`;
  if (issuer === undefined) problems.push(`the issuer of ${title} is missing${example}`);
  else if (!isIssuerOf(name, issuer)) problems.push(`${issuer} is not an issuer of ${title}${example}`);
  const stored = keys === undefined ? undefined : checkedKeys(keys, problems);
  if (keys !== undefined && !(takesKeys && issuer !== usual)) problems.push(`${title} serves its own keys`);
  if (problems.length > 0 || issuer === undefined) {
    throw new KrmhubError('invalid-request', problems.join('; '), {
      hint: 'See the table of providers: krmhub help trusted-publishing',
    });
  }
  return { group, provider: name, issuer, settings, pins, ...defined({ kind, keys: stored }) };
}

function unknownNames(given: object, known: object, what: string): string[] {
  const names = Object.keys(known);
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const near = suggest(name, names);
      const instead = near === undefined ? `one of ${names.join(', ') || 'none'}` : `did you mean ${near}?`;
      return `${JSON.stringify(name)} is not one of the ${what}: ${instead}`;
    });
}

function checkedKeys(text: string, problems: string[]): string | undefined {
  try {
    return storedKeys(text);
  } catch (error) {
    problems.push(`the keys cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}
