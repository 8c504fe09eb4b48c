import { ROLES, type Role } from './access-document.js';

/** What an actor wants to do. The scopes of tokens have the same names. */
export type Action = 'read' | 'publish' | 'yank' | 'push' | 'own' | 'scim' | Role;
/** A right that a token can have. Who owns a group may do so by its scope to publish. */
export type Scope = Exclude<Action, 'own'>;

/** Who has a scope that no role gives: every user, where a team of the user has the right, or only tokens of programs. */
const HOLDERS: Record<Exclude<Scope, Role>, 'users' | 'programs'> = {
  read: 'users',
  publish: 'users',
  yank: 'users',
  push: 'users',
  scim: 'programs',
};
/** What every user may do where a team of the user has the right. */
export const USER_SCOPES = (Object.keys(HOLDERS) as (keyof typeof HOLDERS)[]).filter(
  (scope) => HOLDERS[scope] === 'users',
);
/** The scopes that a user can have. */
export const USER_TOKEN_SCOPES: readonly Scope[] = [...USER_SCOPES, ...ROLES];
