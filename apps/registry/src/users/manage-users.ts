/**
 * People who sign in: what administrators see of them, and their suspension.
 *
 * A user is known by the issuer and the subject, never by a name or an e-mail address. A suspension ends the sessions at
 * once, and each request with a personal token reads the user again.
 *
 * @module
 */

import type { RestoreUserResult, SuspendResult, UserPage, UserReport } from '@krmhub/api/model';
import type { TokenReader, TokenRecord, UserRecord, UserStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Caller } from '../http/auth/caller.js';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { hasProvider, isManaged, tokenProblem, withOwnGroups } from '../http/auth/tokens.js';
import type { UserSettings } from '../http/auth/user-session.js';
import { fullUser } from '../http/presentation.js';
import type { DirectoryEnder } from '../store/directory-store.js';
import type { UserSessions } from '../store/session-store.js';

export interface UserDeps {
  store: UserStore & TokenReader & UserSessions & DirectoryEnder;
  access: KnownAccess;
  clock: () => Date;
  config: UserSettings;
}

const shown = ({ access: { rules }, config }: UserDeps, user: UserRecord) =>
  fullUser(rules, withOwnGroups(user, config));

/** Returns a page of users. */
export async function listUsers(
  deps: UserDeps,
  { q, after, limit }: { q?: string | undefined; after?: string | undefined; limit: number },
): Promise<UserPage> {
  const found = await deps.store.users({ after, limit: limit + 1, text: q });
  const users = found.slice(0, limit).map((user) => shown(deps, user));
  return { users, ...defined({ next: found.length > limit ? users.at(-1)?.id : undefined }) };
}

/** Returns a user with the numbers of sessions and tokens. Rejects with `not-found`. */
export async function readUser(deps: UserDeps, id: string): Promise<UserReport> {
  const user = found(await deps.store.user(id), id);
  return { ...shown(deps, user), ...(await credentials(deps, id)) };
}

/** An administrator: who it is for records, and the user, if it is one. */
export interface Administrator extends Caller {
  user?: string | undefined;
}

/** Suspends a user at once. Rejects with `not-found`, and with `forbidden` for the account of the administrator. */
export async function suspendUser(deps: UserDeps, id: string, by: Administrator): Promise<SuspendResult> {
  const { store, clock } = deps;
  const caller = refuseOwn(by, id);
  const before = found(await store.user(id), id);
  const ended = await credentials(deps, id);
  const user = found(await store.suspendUser(id, true, { ...caller, at: clock().toISOString() }), id);
  const outcome = before.suspendedAt === undefined ? 'suspended' : 'unchanged';
  return { outcome, user: shown(deps, user), ended };
}

/**
 * Ends the suspension of a user. Rejects with `not-found`, and with `conflict` if the directory suspends the user. The
 * directory of a provider that is not the first one any more cannot end a suspension, so an administrator does.
 */
export async function restoreUser(deps: UserDeps, id: string, caller: Caller): Promise<RestoreUserResult> {
  const { store, clock, config } = deps;
  const before = found(await store.user(id), id);
  const act = { ...caller, at: clock().toISOString() };
  if (before.directory?.isActive === false) {
    if (isManaged(before, config)) {
      throw new KrmhubError('conflict', `the directory says that ${before.name} is not active`, {
        hint: 'Activate the user in the directory, or assign the user to the application there again. If you stopped using the directory, remove the user with DELETE /scim/v2/Users/ID first, with a token of the scope scim.',
      });
    }
    await store.releaseUser(id, act);
  }
  const user = found(await store.suspendUser(id, false, act), id);
  const outcome = before.suspendedAt === undefined ? 'unchanged' : 'restored';
  const { tokens } = await credentials(deps, id);
  const problem = hasProvider(user, config)
    ? undefined
    : `the registry has no identity provider ${user.issuer}, so the user cannot sign in`;
  return { outcome, user: shown(deps, user), tokens, ...defined({ problem }) };
}

/** Ends the sessions of a user. Rejects with `not-found`, and with `forbidden` for the account of the administrator. */
export async function signOutUser(deps: UserDeps, id: string, by: Administrator): Promise<number> {
  const { store, clock } = deps;
  const caller = refuseOwn(by, id);
  found(await store.user(id), id);
  return store.endSessionsOfUser(id, { ...caller, at: clock().toISOString() });
}

function refuseOwn({ user, ...caller }: Administrator, id: string): Caller {
  if (user !== id) return caller;
  throw new KrmhubError('forbidden', 'nothing was changed: this is your own account', {
    hint: 'Ask another administrator.',
  });
}

/** Counts what a user can sign in with. */
async function credentials(
  { store, clock }: UserDeps,
  id: string,
): Promise<{ sessions: number; tokens: number }> {
  const now = clock();
  // Also of a user who is suspended.
  const isUsable = ({ user: _, ...token }: TokenRecord) => tokenProblem(token, now, {}) === undefined;
  const sessions = (await store.sessionsOfUser(id)).filter(({ expiresAt }) => expiresAt > now.toISOString());
  return { sessions: sessions.length, tokens: (await store.tokensOfUser(id)).filter(isUsable).length };
}

function found(user: UserRecord | undefined, id: string): UserRecord {
  if (user === undefined) {
    throw new KrmhubError('not-found', `user ${id} not found`, {
      hint: 'Users appear when they sign in, or when the directory announces them.',
    });
  }
  return user;
}
