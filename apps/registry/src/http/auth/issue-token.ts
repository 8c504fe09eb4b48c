import type { z } from '@hono/zod-openapi';
import type { CreateTokenRequest } from '@krmhub/api/model';
import { isLimitedBy } from '@krmhub/api/token-scopes';
import type { TokenRecord, TokenStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { createToken } from './tokens.js';

export interface TokenDeps {
  store: TokenStore;
  clock: () => Date;
}

const GROUP_GLOB = /^[a-z0-9.*-]+$/;
const REPOSITORY_GLOB = /^[a-z0-9._/*-]+$/;

/** A limit that is wrong or has no effect, with the field that has it. */
export class InvalidTokenRequest extends KrmhubError {
  constructor(
    readonly field: 'groups' | 'repositories',
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
  { store, clock }: TokenDeps,
  wanted: TokenRequest,
  by: string,
): Promise<{ token: TokenRecord; secret: string }> {
  refuseWrong('groups', wanted.groups, GROUP_GLOB, 'Use groups such as example.com');
  refuseWrong('repositories', wanted.repositories, REPOSITORY_GLOB, 'Use repositories such as team/catalog');
  // An administrator can create any token, so a limit to groups would have no effect.
  if (wanted.scopes.includes('admin') && !wanted.groups.includes('*')) {
    throw new InvalidTokenRequest(
      'groups',
      'the scope admin covers the whole registry',
      'Remove the groups or the scope admin.',
    );
  }
  refuseIdleLimits(wanted);
  return createToken(store, wanted, { now: clock(), by });
}

/** Revokes a token; does nothing if it was already revoked. Rejects with `not-found`. */
export async function revokeToken({ store, clock }: TokenDeps, id: string): Promise<TokenRecord> {
  const token = await store.revokeToken(id, clock().toISOString());
  if (token === undefined) throw new KrmhubError('not-found', `token ${id} not found`);
  return token;
}

function refuseWrong(
  field: InvalidTokenRequest['field'],
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
      'Set repositories such as team/*, or add the scope publish.',
    );
  }
  if (limited(repositories) && !isLimitedBy(scopes, 'repositories')) {
    throw new InvalidTokenRequest(
      'repositories',
      'repositories do not apply to a token without the scope push',
      'Set groups such as example.com, or add the scope push.',
    );
  }
  const functions = repositories.filter((glob) => glob.startsWith('functions/'));
  if (functions.length > 0) {
    throw new InvalidTokenRequest(
      'repositories',
      `${functions.join(', ')}: the scope push does not cover functions`,
      'Use the scope publish and the group of the functions.',
    );
  }
}
