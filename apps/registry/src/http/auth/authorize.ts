/**
 * Tokens, their rights, the rate limits of requests, and the log of requests.
 *
 * `can` of the package catalog makes every decision about rights. Handlers read through readable-store.ts, which hides
 * what the actor of the request may not read. The row of a token has only the hash of its secret.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises';
import {
  type AccessObject,
  type AccessRules,
  type Action,
  type Actor,
  ANONYMOUS,
  actorName,
  can,
  lackingPublisher,
  type SourceReader,
  type TokenReader,
  type TokenRecord,
  type TokenStore,
  tokenActor,
  USER_TOKEN_SCOPES,
  type UserReader,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { RegistryContext } from '../context.js';
import { callerOf } from './caller.js';
import {
  type CheckDeps,
  type CheckedToken,
  checkToken,
  secretCredential,
  type TokenCredential,
} from './check-token.js';
import { readCredentials } from './credentials.js';
import type { KnownAccess } from './request-actor.js';
import { isTokenSecret } from './tokens.js';
import { credentialText, sessionToken, type UserSession } from './user-session.js';

/** Knows tokens. */
export interface TokenAuthority extends CheckDeps {
  store: TokenReader & Pick<TokenStore, 'touchToken'> & UserReader;
  log: Log;
}

/** Knows tokens, and what they may do. */
export interface Authority extends TokenAuthority {
  store: TokenAuthority['store'] & SourceReader;
  access: KnownAccess;
}

/**
 * Returns the token of a request. Only operations that need a token call this: an anonymous read ignores
 * `Authorization`, so an expired token never breaks reading. Rejects with `unauthorized`, and with `rate-limited` if
 * the token or the address of the client exceeded its limit.
 */
export async function authenticate(c: RegistryContext, authority: Authority): Promise<TokenRecord> {
  const header = c.req.header('authorization');
  const hint =
    'Set a token with `krmhub login` or KRMHUB_TOKEN. An administrator creates tokens with `krmhub token create`. The first token is in admin.token in the data folder.';
  if (header === undefined)
    throw new KrmhubError('unauthorized', 'this operation requires a token', { hint });
  const secret = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (secret !== undefined) return authenticateSecret(c, authority, secret, hint);
  c.get('limits').countFailure(c, 'token');
  throw new KrmhubError('unauthorized', 'invalid Authorization header: expected `Bearer TOKEN`', { hint });
}

/** Returns the token with this secret, by the same rules. */
export async function authenticateSecret(
  c: RegistryContext,
  authority: TokenAuthority,
  secret: string,
  hint: string,
): Promise<TokenRecord> {
  if (isTokenSecret(secret)) return authenticateToken(c, authority, secretCredential(secret), hint);
  c.get('limits').countFailure(c, 'token');
  const message = 'malformed token: it is truncated, mistyped, or not a krmhub token';
  throw new KrmhubError('unauthorized', message, { hint });
}

/** Returns the token of a credential, by the same rules. */
export async function authenticateToken(
  c: RegistryContext,
  authority: TokenAuthority,
  credential: TokenCredential,
  hint: string,
): Promise<TokenRecord> {
  const { store, clock, log } = authority;
  const { hash } = credential;
  const limits = c.get('limits');
  const refuse = (message: string, better = hint) => {
    limits.countFailure(c, 'token');
    return new KrmhubError('unauthorized', message, { hint: better });
  };
  const now = clock();
  const check = async () => {
    const find = () => takeFoundToken(c, hash) ?? readToken(c, store, hash);
    const checked = await checkToken(find, credential.openSignIn, authority);
    return checked ?? refuse('unknown token');
  };
  const token = await begin(c, check, refuse);
  limits.countWrite(c, token);
  await recordUse(c, token, now, { store, log });
  return token;
}

/**
 * Returns what a signed-in user may do in a session, as a token that covers everything: the user decides. Rejects with
 * `unauthorized` if the user may not sign in any more.
 */
export async function authenticateUser(
  c: RegistryContext,
  authority: TokenAuthority,
  session: UserSession,
): Promise<TokenRecord> {
  const refuse = (message: string) => new KrmhubError('unauthorized', message);
  const find = async () => {
    const user = await authority.store.user(session.user);
    return user && sessionToken(session, user);
  };
  const check = async () =>
    (await checkToken(find, () => session.signIn, authority)) ?? refuse('unknown user');
  const token = await begin(c, check, refuse);
  c.get('limits').countWrite(c, token);
  return token;
}

/** Finds the token of a request, which must be usable now, and once more before a write that waited. */
async function begin(
  c: RegistryContext,
  check: () => Promise<CheckedToken | KrmhubError>,
  refuse: (message: string, hint?: string) => KrmhubError,
): Promise<TokenRecord> {
  const find = async () => {
    const checked = await check();
    if (checked instanceof KrmhubError) throw checked;
    const { token, problem, signIn } = checked;
    c.set('actor', { id: token.id, name: actorName(token) });
    c.set('signIn', signIn);
    if (problem === undefined) {
      c.set('latestToken', token);
      c.set('tokenReadAt', performance.now());
      return token;
    }
    const message = `${credentialText(token)} is ${problem.is}`;
    if (problem.isAway !== true) throw refuse(message, problem.hint);
    throw new KrmhubError('unavailable', message, defined({ hint: problem.hint }));
  };
  const token = await find();
  c.set('tokenId', token.id);
  c.set('recheckToken', find);
  return token;
}

/** Also checks a right of the token again, each time that a write checks the token again: it can end meanwhile. */
export function recheckRight(c: RegistryContext, refuse: (token: TokenRecord) => void | Promise<void>): void {
  const find = c.get('recheckToken');
  if (find === undefined) return;
  c.set('recheckToken', async () => {
    const token = await find();
    await refuse(token);
    return token;
  });
}

/**
 * Checks the token of a request again, after it has waited; `if-old` unless it was checked a moment ago: for the end of a
 * write, which can take long or wait for others. Rejects with `unauthorized` if it was revoked or has expired since.
 */
export type RecheckToken = (when?: 'if-old') => Promise<void>;

/** Returns how a write checks the token of its request again. */
export function recheckToken(c: RegistryContext): RecheckToken {
  return async (when) => {
    const age = performance.now() - (c.get('tokenReadAt') ?? 0);
    if (when === 'if-old' && age < SERVER_LIMITS.recheckWriterMilliseconds) return;
    await c.get('recheckToken')?.();
  };
}

/** The token of a request as it was read last: what its user may do can end while the body comes. */
export function latestToken(c: RegistryContext, token: TokenRecord): TokenRecord {
  return c.get('latestToken') ?? token;
}

/** As `recheckToken`, after the body has come: there was nothing to wait for if it was there before the token was read. */
export async function recheckTokenAfterBody(c: RegistryContext): Promise<void> {
  if (c.get('isWholeSinceToken') !== true) await recheckToken(c)();
}

async function readToken(
  c: RegistryContext,
  store: TokenReader,
  hash: string,
): Promise<TokenRecord | undefined> {
  const incoming = c.env?.incoming;
  // What came with the header is parsed in the next turn.
  if (c.req.method !== 'GET' && incoming?.complete === false) await setImmediate();
  const isWhole = incoming?.complete === true;
  const token = await store.tokenByHash(hash);
  c.set('isWholeSinceToken', isWhole);
  return token;
}

async function recordUse(
  c: RegistryContext,
  token: TokenRecord,
  now: Date,
  { store, log }: Pick<TokenAuthority, 'store' | 'log'>,
): Promise<void> {
  const last = token.lastUsedAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(token.lastUsedAt);
  if (now.getTime() - last < SERVER_LIMITS.tokenUseMilliseconds) return;
  try {
    await store.touchToken(token.id, now.toISOString(), callerOf(c, token).origin);
  } catch (error) {
    // The request matters more than the record of its token.
    log.warn({ err: error, tokenId: token.id }, 'cannot record the last use of a token');
  }
}

/**
 * Returns the token of a request if it may do something in `group`, or with a function of it; without a group, in the
 * whole registry. Rejects with
 * `unauthorized` or `forbidden`.
 */
export async function authorize(
  c: RegistryContext,
  authority: Authority,
  action: Exclude<Action, 'read'>,
  group?: string,
  kind?: string,
): Promise<TokenRecord> {
  const token = await authenticate(c, authority);
  const object = group === undefined ? 'registry' : { group, ...defined({ kind }) };
  const refuse = (read: TokenRecord) => refuseForbidden(authority, read, action, object);
  await refuse(token);
  // Also whether the group is new: it can be closed meanwhile.
  recheckRight(c, refuse);
  return token;
}

/** Rejects with `forbidden` if the token lacks a right; looks up whether a group is new only if that matters. */
export async function refuseForbidden(
  authority: Authority,
  token: TokenRecord,
  action: Action,
  object: AccessObject,
): Promise<void> {
  const { rules } = authority.access;
  if (action === 'publish' && object !== 'registry' && 'group' in object) {
    if (lackingRights(rules, token, action, { ...object, isNew: true }).length === 0) return;
    const isNew = !(await authority.store.ownedGroups([object.group])).has(object.group);
    refuseLacking(rules, token, action, { ...object, isNew });
  } else refuseLacking(rules, token, action, object);
}

/**
 * Notes that a change that is answered with 404 may be one that the token has no right to. The audit log then has a row
 * for hidden and for absent things: otherwise one would take longer.
 */
export function answerAsAbsent(c: RegistryContext, rules: AccessRules, token: TokenRecord): void {
  c.set('isRefusedAsAbsent', rules.hidesAnything && !isAdministrator(rules, token));
}

/** Returns the rights that a token lacks; empty if it lacks none. */
export function lackingRights(
  rules: AccessRules,
  token: TokenRecord,
  action: Action,
  object: AccessObject = 'registry',
): string[] {
  const decision = can(rules, tokenActor(rules, token), action, object);
  return decision.allowed ? [] : decision.lacks;
}

/** Whether a token administers the registry: a user with its scope may have lost the role. */
export function isAdministrator(rules: AccessRules, token: TokenRecord): boolean {
  return lackingRights(rules, token, 'admin').length === 0;
}

/** What helps while only administrators may do anything: no grant or owner would. */
export const HINT_UNREADABLE_ACCESS =
  'Ask the operator to start the version of krmhub that applied the Access document, or a later one.';

/** Throws `forbidden` if the token lacks a right. */
export function refuseLacking(
  rules: AccessRules,
  token: TokenRecord,
  action: Action,
  object: AccessObject = 'registry',
): void {
  const lacks = lackingRights(rules, token, action, object);
  if (lacks.length === 0) return;
  const message = `${credentialText(token)} does not have ${lacks.join(' and ')}`;
  if (rules.isUnreadable) throw new KrmhubError('forbidden', message, { hint: HINT_UNREADABLE_ACCESS });
  if (isOnlyNew(rules, token, action, object)) {
    const { group } = object;
    throw new KrmhubError('forbidden', message, {
      hint: `An administrator can publish its first function, create a token with \`krmhub token create NAME --scope publish --group ${group}\`, or add the group to openGroups with \`krmhub access apply\`.`,
    });
  }
  if (token.run !== undefined && action === 'publish' && typeof object !== 'string' && 'group' in object) {
    throw new KrmhubError('forbidden', message, {
      hint: `This workflow is a trusted publisher of ${token.groups.join(', ')}. An owner of the group adds it for more: krmhub publisher add ${object.group}`,
    });
  }
  const group = typeof object !== 'string' && 'group' in object ? String(object.group) : undefined;
  if (group !== undefined && lacks.includes(lackingPublisher(group))) {
    throw new KrmhubError('forbidden', message, {
      hint: `Publish by a workflow that is a trusted publisher of the group, which needs no token: krmhub publisher list ${group}, krmhub help trusted-publishing`,
    });
  }
  if (token.user !== undefined) {
    if (lackingRights(rules, { ...token, scopes: [...USER_TOKEN_SCOPES] }, action, object).length === 0) {
      throw new KrmhubError('forbidden', message, {
        hint: `You have the right, but this token has only ${token.scopes.join(', ')}. Run \`krmhub login\` again, and choose the scope on the page.`,
      });
    }
    const { teams } = tokenActor(rules, token);
    const of = teams?.length === 0 ? 'The user is in no team.' : `The user is in ${teams?.join(', ')}.`;
    throw new KrmhubError('forbidden', message, {
      hint: `${of} An administrator can change members of teams, owners, and grants with \`krmhub access apply\`.`,
    });
  }
  throw new KrmhubError('forbidden', message, {
    hint: `The token has ${token.scopes.join(', ')} for ${token.groups.join(', ')}${token.team === undefined ? '' : `, where its team "${token.team}" has the right`}. An administrator can create another token with \`krmhub token create\`, or change owners and grants with \`krmhub access apply\`.`,
  });
}

/** Whether a token could publish in the group if it had a function. */
function isOnlyNew(
  rules: AccessRules,
  token: TokenRecord,
  action: Action,
  object: AccessObject,
): object is { group: string } {
  if (object === 'registry' || !('group' in object) || object.isNew !== true) return false;
  return lackingRights(rules, token, action, { ...object, isNew: false }).length === 0;
}

/** A request that changes something needs the row that told who makes it. One that took long to come reads it again. */
function takeFoundToken(c: RegistryContext, hash: string): Promise<TokenRecord> | undefined {
  const found = c.get('foundToken');
  c.set('foundToken', undefined);
  const isSame = found?.hash === hash && performance.now() - found.at < FOUND_MS;
  return isSame ? Promise.resolve(found.token) : undefined;
}

/** Milliseconds for which the row of a token counts as just read. */
const FOUND_MS = 100;

/**
 * Returns who makes a request that anybody may make: its token, or nobody. A wrong token is as none, so that an expired
 * one never breaks what is public. `readAccessToken` finds the token for which a client of OCI got a short one, which is
 * for repositories only.
 */
export async function identify(
  c: RegistryContext,
  { store, access, ...deps }: Authority,
  readAccessToken: (token: string) => Promise<TokenCredential | undefined>,
): Promise<Actor> {
  const credentials = readCredentials(c.req.header('authorization'));
  let credential: TokenCredential | undefined;
  if (typeof credentials === 'string') return ANONYMOUS;
  if ('token' in credentials) {
    if (c.req.path.startsWith('/v2/')) credential = await readAccessToken(credentials.token);
  } else if (isTokenSecret(credentials.secret)) credential = secretCredential(credentials.secret);
  const { hash = '', openSignIn = () => undefined } = credential ?? {};
  const find = async () => {
    if (credential === undefined) return undefined;
    const token = await readToken(c, store, hash);
    c.set('foundToken', token && { hash, token, at: performance.now() });
    return token;
  };
  const checked = await checkToken(find, openSignIn, deps);
  if (checked === undefined) {
    c.set('uselessToken', 'the token is not known here');
    return ANONYMOUS;
  }
  const { token, problem } = checked;
  if (problem === undefined) return tokenActor(access.rules, token);
  c.set('uselessToken', `the token "${token.name}" is ${problem.is}`);
  c.set('isTokenAway', problem.isAway === true);
  return ANONYMOUS;
}
