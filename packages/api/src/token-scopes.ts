/** The scopes of tokens: one table, from which the API, the command line, and the pages of operators are made. */

interface ScopeDescription {
  /** What a token with this scope can do. */
  meaning: string;
  /** What limits it to a part of the registry. */
  limit: 'groups' | 'repositories' | 'both' | 'none';
}

const SCOPES = {
  read: { meaning: 'read functions and repositories that are not public', limit: 'both' },
  publish: {
    meaning: 'publish releases of functions with their scripts, and attach signatures to them',
    limit: 'groups',
  },
  yank: { meaning: 'yank, unyank, and deprecate releases', limit: 'groups' },
  push: { meaning: 'push other artifacts to repositories outside functions/', limit: 'repositories' },
  scim: {
    meaning: 'manage users and groups as a directory does (SCIM), and nothing else',
    limit: 'none',
  },
  audit: { meaning: 'read the audit log', limit: 'none' },
  admin: { meaning: 'administer the registry: tokens, recipes, policies, takedowns', limit: 'none' },
} as const satisfies Record<string, ScopeDescription>;

export type TokenScope = keyof typeof SCOPES;
export const TOKEN_SCOPES = Object.keys(SCOPES) as readonly TokenScope[];

export function isTokenScope(text: string): text is TokenScope {
  return Object.hasOwn(SCOPES, text);
}

export function describeScope(scope: TokenScope): ScopeDescription {
  return SCOPES[scope];
}

/**
 * Reports whether the registry itself created a token: the first one of administrators, or another one while no
 * administrator token was valid. It has no owner, and does not expire.
 */
export function isFirstToken(token: { createdBy: string; expiresAt?: string | undefined }): boolean {
  return token.createdBy === 'krmhub' && token.expiresAt === undefined;
}

/** Returns whether a token has a scope that its groups, or its repositories, limit. Ignores unknown scopes. */
export function isLimitedBy(scopes: readonly string[], limit: 'groups' | 'repositories' | 'none'): boolean {
  const isLimited = (scope: TokenScope) => SCOPES[scope].limit === limit || SCOPES[scope].limit === 'both';
  return scopes.some((scope) => isTokenScope(scope) && isLimited(scope));
}
