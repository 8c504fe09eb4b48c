import type { z } from '@hono/zod-openapi';
import type { CreateTokenRequest } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { describeScope, isLimitedBy } from '@krmhub/api/token-scopes';
import type { AccessRules, TokenRecord, TokenStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import type { Caller } from './caller.js';
import type { KnownAccess } from './request-actor.js';
import { createToken } from './tokens.js';
import type { UserSettings } from './user-session.js';

export interface TokenDeps {
  store: TokenStore;
  access: KnownAccess;
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
    readonly field: 'groups' | 'repositories' | 'team' | 'expiresInDays',
    message: string,
    hint: string,
  ) {
    super('invalid-request', message, { hint });
  }
}

type TokenRequest = z.output<typeof CreateTokenRequest>;

/**
 * Creates a requested token and returns it with its secret. Rejects with `invalid-request` for limits without effect.
 */
export async function issueToken(
  { store, access, clock, config }: TokenDeps,
  wanted: TokenRequest,
  caller: Caller,
): Promise<{ token: TokenRecord; secret: string }> {
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
  return createToken(store, { ...wanted, expiresInDays }, { now: clock(), ...caller });
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
