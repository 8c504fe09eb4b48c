import type { z } from '@hono/zod-openapi';
import type { CreateTokenRequest } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { describeScope, isLimitedBy } from '@krmhub/api/token-scopes';
import {
  type AccessRules,
  type DecidedThrough,
  type TokenRecord,
  type TokenStore,
  tokenActor,
} from '@krmhub/catalog';
import { KrmhubError, matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import { isAdministrator, refuseLacking } from './authorize.js';
import type { Caller } from './caller.js';
import { type OpenSignIn, type SignInChecker, signInForTokens } from './open-sign-in.js';
import type { CurrentAccess, DecidingStore, KnownAccess } from './request-actor.js';
import { createToken, type NewToken } from './tokens.js';
import { isSessionToken, type UserSettings } from './user-session.js';

export interface TokenDeps {
  store: TokenStore & DecidingStore;
  signIns: SignInChecker;
  access: CurrentAccess;
  clock: () => Date;
  config: UserSettings & {
    /** Longest time until a new token expires; absent for the limit of the API. */
    maxTokenDays?: number;
  };
}

/** Returns the days until a new token expires: at most, and unless the request has others. */
export function tokenDays({ config }: Pick<TokenDeps, 'config'>): { max: number; usual: number } {
  const { maxTokenDays: max = REQUEST_LIMITS.maxTokenDays } = config;
  return { max, usual: Math.min(REQUEST_LIMITS.defaultTokenDays, max) };
}

const GROUP_GLOB = /^[a-z0-9.*-]+$/;
const REPOSITORY_GLOB = /^[a-z0-9._/*-]+$/;

/** A value that is wrong or has no effect, with the field that has it. */
export class InvalidTokenRequest extends KrmhubError {
  constructor(
    readonly field: 'scopes' | 'groups' | 'repositories' | 'team' | 'expiresInDays',
    message: string,
    hint: string,
  ) {
    super('invalid-request', message, { hint });
  }
}

type TokenRequest = z.output<typeof CreateTokenRequest>;

/**
 * Creates the token that the holder of another one requests, and returns it with its secret. Users get personal ones,
 * unless they ask for another one, which needs the scope admin. Rejects with `forbidden`, and with `invalid-request` for
 * limits without effect, and for what would be more than the requesting token.
 */
export function issueToken(
  deps: TokenDeps,
  wanted: TokenRequest,
  by: TokenRecord,
  caller: Caller & { signIn: OpenSignIn | undefined },
): Promise<{ token: TokenRecord; secret: string }> {
  if (wanted.team === undefined) return issueDecided(deps, wanted, by, caller);
  return deps.access.decide(deps.store, (decided) => issueDecided(deps, wanted, by, { ...caller, decided }));
}

async function issueDecided(
  { store, signIns, access, clock, config }: TokenDeps,
  wanted: TokenRequest,
  by: TokenRecord,
  { signIn: of, ...caller }: Parameters<typeof issueToken>[3] & { decided?: DecidedThrough },
): Promise<{ token: TokenRecord; secret: string }> {
  const isPersonal = isPersonalRequest(by, wanted);
  if (!isPersonal) refuseLacking(access.rules, by, 'admin');
  refuseWrong('groups', wanted.groups, GROUP_GLOB, 'Use groups such as example.com');
  refuseWrong('repositories', wanted.repositories, REPOSITORY_GLOB, 'Use repositories such as team/catalog');
  // An administrator can create any token, so a limit to groups would have no effect.
  const unlimited = wanted.scopes.find((scope) => describeScope(scope).limit === 'none');
  if (unlimited !== undefined && !wanted.groups.includes('*')) {
    throw new InvalidTokenRequest(
      'groups',
      `the scope ${unlimited} covers the whole registry`,
      `Remove the groups or the scope ${unlimited}.`,
    );
  }
  refuseOtherScopes(wanted);
  refuseIdleLimits(wanted);
  refuseWrongTeam(access, wanted);
  const { max, usual } = tokenDays({ config });
  const { expiresInDays = usual } = wanted;
  if (expiresInDays > max) {
    throw new InvalidTokenRequest(
      'expiresInDays',
      `a token of this registry expires after at most ${max} days, not ${expiresInDays}`,
      'Request fewer days, or ask the operator to raise KRMHUB_MAX_TOKEN_DAYS.',
    );
  }
  const bounds = isPersonal ? personalBounds(access.rules, wanted, by, clock()) : {};
  const signIn = isPersonal ? await signInForTokens(signIns, of) : undefined;
  return createToken(store, { ...wanted, ...bounds, signIn, expiresInDays }, { now: clock(), ...caller });
}

/** Whether a request is for a token of its user. */
export function isPersonalRequest(by: TokenRecord, { robot = false, team }: TokenRequest): boolean {
  return by.user !== undefined && !robot && team === undefined;
}

/**
 * Returns what bounds a personal token, besides the rights of its user. A token makes no other one with more scopes, more
 * groups, or a longer life, so that a leaked one cannot be kept; a session may do so.
 */
function personalBounds(
  rules: AccessRules,
  { scopes, groups, repositories, expiresInDays }: TokenRequest,
  by: TokenRecord,
  now: Date,
): Partial<Pick<NewToken, 'user' | 'groups' | 'repositories' | 'expiresBy'>> {
  const of = isSessionToken(by) ? 'the user' : `the token "${by.name}"`;
  const hint = isSessionToken(by)
    ? 'Teams have scopes by grants: krmhub whoami shows them.'
    : 'Create the token on the page of your tokens, where you sign in yourself.';
  const own = tokenActor(rules, by).scopes;
  const more = scopes.filter((scope) => !own.includes(scope));
  if (more.length > 0) {
    throw new InvalidTokenRequest('scopes', `${of} does not have the scope ${more.join(', ')}`, hint);
  }
  if (isSessionToken(by)) return defined({ user: by.user });
  const limits = { groups, repositories };
  for (const field of ['groups', 'repositories'] as const) {
    if (!isLimitedBy(scopes, field)) {
      // It still bounds what the teams of the user let the token read.
      limits[field] = [...by[field]];
      continue;
    }
    const beyond = limits[field].filter((glob) => !isCovered(by[field], glob));
    if (beyond.length === 0) continue;
    const what = `${of} is for the ${field} ${by[field].join(', ')}, not for ${beyond.join(', ')}`;
    throw new InvalidTokenRequest(field, what, hint);
  }
  const { expiresAt } = by;
  const end = expiresInDays === undefined ? now.getTime() : now.getTime() + expiresInDays * 86_400_000;
  if (expiresAt !== undefined && end > Date.parse(expiresAt) + 86_400_000) {
    const what = `${of} expires at ${expiresAt}, and cannot make one that expires later`;
    throw new InvalidTokenRequest('expiresInDays', what, hint);
  }
  return { ...limits, ...defined({ user: by.user, expiresBy: expiresAt }) };
}

/**
 * Whether globs match all that another one matches. A wildcard is covered by itself, and by `*`, which alone covers no
 * referrers of catalogs.
 */
function isCovered(globs: readonly string[], glob: string): boolean {
  if (globs.includes(glob)) return true;
  if (globs.includes('*') && !glob.startsWith('catalogs/')) return true;
  return !glob.includes('*') && globs.some((one) => one !== '*' && matchesGlob(one, glob));
}

/** A directory has its token for years, in a service of others. */
function refuseOtherScopes({ scopes, team }: TokenRequest): void {
  if (!scopes.includes('scim')) return;
  const others = scopes.filter((scope) => scope !== 'scim');
  if (others.length > 0) {
    throw new InvalidTokenRequest(
      'scopes',
      `a token with the scope scim has no other scope, such as ${others.join(', ')}`,
      'Create a token for the directory alone.',
    );
  }
  if (team !== undefined) {
    throw new InvalidTokenRequest(
      'team',
      'a team does not bound a token with the scope scim',
      'Remove the team.',
    );
  }
}

function refuseWrongTeam({ rules }: KnownAccess, { team, scopes }: TokenRequest): void {
  if (team === undefined) return;
  if (scopes.includes('admin')) {
    throw new InvalidTokenRequest(
      'team',
      'a team does not bound a token with the scope admin',
      'Remove the team or the scope admin.',
    );
  }
  const unknown = unknownTeam(rules, team);
  if (unknown !== undefined) throw new InvalidTokenRequest('team', unknown.message, unknown.hint);
}

/** Returns what is wrong with the name of a team; undefined if the Access document has the team. */
export function unknownTeam(rules: AccessRules, team: string): { message: string; hint: string } | undefined {
  if (rules.team(team) !== undefined) return undefined;
  const known = rules.document.teams.map(({ name }) => name);
  const near = suggest(team, known);
  return {
    message: `team ${JSON.stringify(team)} is not in the Access document`,
    hint:
      near === undefined
        ? 'An administrator adds teams with `krmhub access apply`.'
        : `Did you mean ${near}?`,
  };
}

/** Returns all tokens for administrators, and for other users their own. Throws `forbidden` for others. */
export async function visibleTokens(
  { store, access: { rules } }: TokenDeps,
  by: TokenRecord,
): Promise<TokenRecord[]> {
  if (by.user !== undefined && !isAdministrator(rules, by)) {
    return store.tokensOfUser(by.user.id);
  }
  refuseLacking(rules, by, 'admin');
  return store.tokens();
}

/** Throws `forbidden` if a personal token would end another one of its user that may do more. */
export function refuseRevocation({ rules }: KnownAccess, token: TokenRecord, by: TokenRecord): void {
  if (isSessionToken(by) || isAdministrator(rules, by)) return;
  const isWithin =
    token.scopes.every((scope) => by.scopes.includes(scope)) &&
    token.groups.every((glob) => isCovered(by.groups, glob)) &&
    token.repositories.every((glob) => isCovered(by.repositories, glob));
  if (isWithin) return;
  throw new KrmhubError('forbidden', `the token "${token.name}" may do more than the token "${by.name}"`, {
    hint: 'Revoke it on the page of your tokens, where you sign in yourself.',
  });
}

/** Revokes a token; does nothing if it was already revoked. Rejects with `not-found`. */
export async function revokeToken(
  { store, clock }: TokenDeps,
  id: string,
  caller: Caller,
): Promise<TokenRecord> {
  const token = await store.revokeToken(id, clock().toISOString(), caller);
  if (token === undefined) throw new KrmhubError('not-found', `token ${id} not found`);
  return token;
}

function refuseWrong(
  field: 'groups' | 'repositories',
  globs: readonly string[],
  pattern: RegExp,
  example: string,
): void {
  const wrong = globs.filter((glob) => !pattern.test(glob)).map((glob) => JSON.stringify(glob));
  if (wrong.length === 0) return;
  const what = field === 'groups' ? 'group' : 'repository';
  throw new InvalidTokenRequest(
    field,
    `${wrong.join(', ')}: not a ${what} or a glob`,
    `${example}; \`*\` matches any characters.`,
  );
}

/** Refuses a limit that no scope of the token uses: the author would believe that it has an effect. */
function refuseIdleLimits({ scopes, groups, repositories }: TokenRequest): void {
  const limited = (globs: readonly string[]) => !globs.includes('*');
  if (limited(groups) && !isLimitedBy(scopes, 'groups')) {
    throw new InvalidTokenRequest(
      'groups',
      `groups do not apply to a token with only the scope ${scopes.join(', ')}`,
      'Set repositories such as team/*, or add the scope read or publish.',
    );
  }
  if (limited(repositories) && !isLimitedBy(scopes, 'repositories')) {
    throw new InvalidTokenRequest(
      'repositories',
      'repositories do not apply to a token without the scope read or push',
      'Set groups such as example.com, or add the scope read or push.',
    );
  }
  const functions = repositories.filter((glob) => glob.startsWith('functions/'));
  if (functions.length > 0) {
    throw new InvalidTokenRequest(
      'repositories',
      `${functions.join(', ')}: repositories do not cover functions`,
      'Use the group of the functions, with the scope read or publish.',
    );
  }
}
