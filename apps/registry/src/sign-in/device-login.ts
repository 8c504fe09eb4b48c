import { randomBytes } from 'node:crypto';
import { LOGIN_CODE } from '@krmhub/api/model';
import { describeScope, isTokenScope, type TokenScope } from '@krmhub/api/token-scopes';
import { type Act, type TokenReader, type TokenRecord, tokenActor, type UserReader } from '@krmhub/catalog';
import { KrmhubError, type RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isAdministrator } from '../http/auth/authorize.js';
import { type TokenDeps, tokenDays } from '../http/auth/issue-token.js';
import { type OpenSignIn, signInForTokens } from '../http/auth/open-sign-in.js';
import { hashSecret, newSecret, newToken, tokenProblem } from '../http/auth/tokens.js';
import { isSessionToken } from '../http/auth/user-session.js';
import { rateLimitKey, siteNetworks } from '../http/client-address.js';
import { SERVER_LIMITS } from '../limits.js';
import type { LoginAnswer, LoginApproval, LoginRequestRecord, LoginStore } from '../store/login-store.js';
import { newProgramKey, openForProgram, sealForProgram } from './program-key.js';

export interface DeviceLoginDeps extends Omit<TokenDeps, 'store'> {
  store: LoginStore & TokenReader & UserReader;
}

const CODE_CHARACTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_LENGTH = 8;
/** Two of the codes that wait are the same once in a hundred million times. */
const CODE_ATTEMPTS = 3;

/**
 * Adds a request of a program that wants to sign in, such as `krmhub login`, and returns it with its secret, which
 * cannot be shown again. The user compares the code on a page, and allows or denies the request (as RFC 8628). The token
 * is made when the program asks with its secret after that, so that it is stored nowhere. Rejects with `rate-limited` if
 * too many programs of the network do so.
 */
export async function requestLogin(
  { store, clock }: DeviceLoginDeps,
  client: Pick<LoginRequestRecord, 'client' | 'address'>,
): Promise<{ request: LoginRequestRecord; secret: string }> {
  const { secret, publicKey } = newProgramKey();
  const limits = SERVER_LIMITS;
  const networks = siteNetworks(client.address);
  const maxOfSite = { waiting: limits.maxLoginRequestsOfSite, ended: limits.maxEndedLoginsOfSite };
  const most = {
    max: limits.maxLoginRequests,
    maxOfNetwork: { waiting: limits.maxLoginRequestsOfNetwork, ended: limits.maxEndedLoginsOfNetwork },
    ...defined({ site: networks === undefined ? undefined : { networks, max: maxOfSite } }),
  };
  for (let attempt = 1; ; attempt++) {
    const now = clock();
    const request: LoginRequestRecord = {
      hash: hashSecret(secret),
      code: newCode(),
      ...client,
      network: rateLimitKey(client.address),
      createdAt: now.toISOString(),
      expiresAt: new Date(now.getTime() + SERVER_LIMITS.loginRequestMilliseconds).toISOString(),
      state: 'pending',
      publicKey,
    };
    const outcome = await store.addLoginRequest(request, most);
    if (outcome === 'added') return { request, secret };
    if (outcome === 'too-many') {
      throw new KrmhubError('rate-limited', 'too many programs at your address sign in', {
        hint: 'Try again in some minutes.',
      });
    }
    if (attempt === CODE_ATTEMPTS) throw new KrmhubError('unavailable', 'no code is free: try again');
  }
}

function newCode(): string {
  const characters = [...randomBytes(CODE_LENGTH)].map((byte) => CODE_CHARACTERS[byte % 32]);
  return `${characters.slice(0, 4).join('')}-${characters.slice(4).join('')}`;
}

/** Returns the code that a user typed; undefined if it is none. */
export function readCode(text: string): string | undefined {
  const plain = text.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  const code = `${plain.slice(0, 4)}-${plain.slice(4)}`;
  return LOGIN_CODE.test(code) ? code : undefined;
}

/** Returns the request with a code that waits for an answer. */
export async function waitingLogin(
  { store, clock }: DeviceLoginDeps,
  code: string,
): Promise<LoginRequestRecord | undefined> {
  const request = await store.loginRequest({ code });
  return request?.state === 'pending' && request.expiresAt > clock().toISOString() ? request : undefined;
}

/** Returns why the token of a session cannot allow a program to sign in; undefined if it can. */
export function loginProblem({ access: { rules } }: DeviceLoginDeps, token: TokenRecord): string | undefined {
  if (isSessionToken(token)) return undefined;
  // Else a token, also a personal one, could have another one that may more, and lives longer.
  return isAdministrator(rules, token) ? undefined : `the token "${token.name}" may not create tokens`;
}

/** Returns the scopes of a login: what concerns groups and repositories, and on request the whole registry. */
export function loginScopes(
  { access: { rules } }: DeviceLoginDeps,
  token: TokenRecord,
): { usual: TokenScope[]; wide: TokenScope[] } {
  const isWide = (scope: TokenScope) => describeScope(scope).limit === 'none';
  const scopes = token.scopes.filter(isTokenScope);
  const actor = tokenActor(rules, token);
  const usual = scopes.filter((scope) => !isWide(scope));
  const wide = scopes.filter((scope) => isWide(scope) && actor.scopes.includes(scope));
  return usual.length === 0 ? { usual: wide, wide: [] } : { usual, wide };
}

/** Allows a program to sign in, for some days. Returns whether the request waited for it. */
export async function allowLogin(
  deps: DeviceLoginDeps,
  { code, days, isWide }: { code: string; days: number; isWide: boolean },
  by: { token: TokenRecord; tokenHash?: string | undefined; signIn: OpenSignIn | undefined },
  act: Act,
): Promise<boolean> {
  const { token, tokenHash } = by;
  const problem = loginProblem(deps, token);
  if (problem !== undefined) throw new KrmhubError('forbidden', problem);
  const { max } = tokenDays(deps);
  if (days > max) throw new KrmhubError('invalid-request', `a token expires after at most ${max} days`);
  const { usual, wide } = loginScopes(deps, token);
  const signIn = token.user && (await signInForTokens(deps.signIns, by.signIn));
  const request = await waitingLogin(deps, code);
  if (request === undefined) return false;
  const sealed = signIn && { ...signIn, key: await sealForProgram(request.publicKey, signIn.key) };
  const answer: LoginAnswer = {
    ...defined({ user: token.user?.id, tokenHash, signIn: sealed }),
    by: act.by,
    scopes: isWide ? [...usual, ...wide] : usual,
    days,
  };
  return deps.store.answerLogin(code, answer, act);
}

const GONE = new KrmhubError('gone', 'the login has expired, or was used before', {
  hint: 'Start again: krmhub login URL',
});

/**
 * Returns the secret of the token of a login, once; undefined while the user has not answered. Rejects with `forbidden`
 * if the user denied it, or may not sign in any more, and with `gone` after it was used or expired.
 */
export async function takeLoginToken(
  deps: DeviceLoginDeps,
  secret: string,
  origin: RequestOrigin,
): Promise<string | undefined> {
  const { store, clock } = deps;
  const now = clock();
  const hash = hashSecret(secret);
  const request = await store.loginRequest({ hash });
  if (request === undefined || request.expiresAt <= now.toISOString()) throw GONE;
  if (request.state === 'pending') return undefined;
  if (request.state === 'denied') {
    throw new KrmhubError('forbidden', 'the login was denied on the page of the registry');
  }
  const { approval } = request;
  if (request.state === 'used' || approval === undefined) throw GONE;
  const tokenSecret = newSecret();
  const signIn = request.signIn && {
    ...request.signIn,
    key: await openForProgram({ secret, publicKey: request.publicKey }, request.signIn.key),
  };
  const record = await loginToken(deps, request, approval, { now, tokenSecret, signIn });
  const token = { record, hash: hashSecret(tokenSecret), origin };
  if (!(await store.useLogin({ hash, at: now.toISOString() }, token))) throw GONE;
  return tokenSecret;
}

/** Returns the token of a login, if who allowed it still may. */
async function loginToken(
  deps: DeviceLoginDeps,
  { client }: LoginRequestRecord,
  { user: userId, tokenHash, by, scopes, days }: LoginApproval,
  { now, tokenSecret, signIn }: { now: Date; tokenSecret: string; signIn: OpenSignIn | undefined },
): Promise<TokenRecord> {
  const { store, config } = deps;
  const refuse = (why: string) => new KrmhubError('forbidden', `the login was allowed, but ${why} since`);
  const user = userId === undefined ? undefined : await store.user(userId);
  const name = user === undefined ? `${by} on ${client}` : client;
  const wanted = {
    name,
    scopes: scopes.filter(isTokenScope),
    groups: ['*'],
    repositories: ['*', 'catalogs/*'],
  };
  // Allowing it with a token is not signing in.
  const kind = user !== undefined && tokenHash === undefined ? ('login' as const) : undefined;
  const token = newToken({ ...wanted, user, kind, signIn, expiresInDays: days }, tokenSecret, { now, by });
  if (user !== undefined) {
    const problem = tokenProblem(token, now, config);
    if (problem !== undefined) throw refuse(`it is ${problem}`);
    if (tokenHash === undefined) return token;
  }
  const allowing = tokenHash === undefined ? undefined : await store.tokenByHash(tokenHash);
  if (allowing === undefined || tokenProblem(allowing, now, config) !== undefined) {
    throw refuse(`the token "${by}" was revoked or expired`);
  }
  const problem = loginProblem(deps, allowing);
  if (problem !== undefined) throw refuse(problem);
  return token;
}
