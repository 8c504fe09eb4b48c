/**
 * Tokens, their rights, the rate limits of requests, and the log of requests.
 *
 * Reads are public, and ignore tokens. An operation needs a scope in a group, or in every group if it concerns the
 * whole registry. The row of a token has only the hash of its secret.
 *
 * @module
 */

import type { TokenScope } from '@krmhub/api/token-scopes';
import type { TokenRecord, TokenStore } from '@krmhub/catalog';
import { KrmhubError, matchesGlob } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { RegistryContext } from '../context.js';
import { hashSecret, isTokenSecret, tokenProblem } from './tokens.js';

export interface Authority {
  store: Pick<TokenStore, 'tokenByHash' | 'touchToken'>;
  clock: () => Date;
  log: Log;
}

/**
 * Returns the token of a request. Only operations that need a token call this: an anonymous read ignores
 * `Authorization`, so an expired token never breaks reading. Rejects with `unauthorized`, and with `rate-limited` if
 * the token or the address of the client exceeded its limit.
 */
export async function authenticate(
  c: RegistryContext,
  { store, clock, log }: Authority,
): Promise<TokenRecord> {
  const header = c.req.header('authorization');
  const hint =
    'Set a token with `krmhub login` or KRMHUB_TOKEN. An administrator creates tokens with `krmhub token create`. The first token is in admin.token in the data folder.';
  if (header === undefined)
    throw new KrmhubError('unauthorized', 'this operation requires a token', { hint });
  const secret = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (secret !== undefined) return authenticateSecret(c, { store, clock, log }, secret, hint);
  const limits = c.get('limits');
  limits.refuseGuessing(c, undefined);
  limits.recordLogin(c, undefined, false);
  throw new KrmhubError('unauthorized', 'invalid Authorization header: expected `Bearer TOKEN`', { hint });
}

/** Returns the token with this secret, by the same rules. */
export async function authenticateSecret(
  c: RegistryContext,
  authority: Authority,
  secret: string,
  hint: string,
): Promise<TokenRecord> {
  const hash = hashSecret(secret);
  if (isTokenSecret(secret)) return authenticateHash(c, authority, hash, hint);
  const limits = c.get('limits');
  limits.refuseGuessing(c, hash);
  limits.recordLogin(c, hash, false);
  const message = 'malformed token: it is truncated, mistyped, or not a krmhub token';
  throw new KrmhubError('unauthorized', message, { hint });
}

/** Returns the token whose secret has this hash, by the same rules. */
export async function authenticateHash(
  c: RegistryContext,
  { store, clock, log }: Authority,
  hash: string,
  hint: string,
): Promise<TokenRecord> {
  const limits = c.get('limits');
  limits.refuseGuessing(c, hash);
  const refuse = (message: string) => {
    limits.recordLogin(c, hash, false);
    return new KrmhubError('unauthorized', message, { hint });
  };
  // The database compares hashes, so its timing reveals nothing about a stored secret.
  const find = async () => {
    const token = await store.tokenByHash(hash);
    if (token === undefined) throw refuse('unknown token');
    const problem = tokenProblem(token, clock().toISOString());
    if (problem !== undefined) throw refuse(`the token "${token.name}" is ${problem}`);
    return token;
  };
  const token = await find();
  const now = clock();
  limits.recordLogin(c, hash, true);
  c.set('tokenId', token.id);
  c.set('recheckToken', async () => {
    await find();
  });
  limits.countWrite(c, token);
  await recordUse(token, now, store, log);
  return token;
}

/** Returns how a write checks the token of its request again, after it has waited. */
export function recheckToken(c: RegistryContext): () => Promise<void> {
  return async () => {
    await c.get('recheckToken')?.();
  };
}

async function recordUse(
  token: TokenRecord,
  now: Date,
  store: Pick<TokenStore, 'tokenByHash' | 'touchToken'>,
  log: Log,
): Promise<void> {
  const last = token.lastUsedAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(token.lastUsedAt);
  if (now.getTime() - last < SERVER_LIMITS.tokenUseMilliseconds) return;
  try {
    await store.touchToken(token.id, now.toISOString());
  } catch (error) {
    // The request matters more than the record of its token.
    log.warn({ err: error, tokenId: token.id }, 'cannot record the last use of a token');
  }
}

/**
 * Returns the token of a request if it has `scope` in `group`; without a group, in the whole registry. Rejects with
 * `unauthorized` or `forbidden`.
 */
export async function authorize(
  c: RegistryContext,
  authority: Authority,
  scope: TokenScope,
  group?: string,
): Promise<TokenRecord> {
  const token = await authenticate(c, authority);
  refuseLacking(token, scope, group);
  return token;
}

/**
 * Returns the rights that a token lacks to use `scope` in `group`, or in the whole registry; empty if it lacks none.
 */
export function lackingRights(token: TokenRecord, scope: TokenScope, group?: string): string[] {
  const lacks: string[] = [];
  if (!token.scopes.includes(scope)) lacks.push(`the scope "${scope}"`);
  if (group !== undefined && !token.groups.some((glob) => matchesGlob(glob, group))) {
    lacks.push(`the group "${group}"`);
  }
  // An operation on the whole registry affects every group.
  if (group === undefined && !token.groups.includes('*')) lacks.push('every group ("*")');
  return lacks;
}

/** Throws `forbidden` if the token lacks a right. */
export function refuseLacking(token: TokenRecord, scope: TokenScope, group?: string): void {
  const lacks = lackingRights(token, scope, group);
  if (lacks.length === 0) return;
  throw new KrmhubError('forbidden', `the token "${token.name}" does not have ${lacks.join(' and ')}`, {
    hint: `The token has ${token.scopes.join(', ')} for ${token.groups.join(', ')}. An administrator can create another token with \`krmhub token create\`.`,
  });
}
