import { createRoute, z } from '@hono/zod-openapi';
import { UserParameters, UsersQuery } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type Caller, callerOf } from '../../http/auth/caller.js';
import type { SessionStore } from '../../store/session-store.js';
import { listUsers, readUser, restoreUser, suspendUser, type UserDeps } from '../../users/manage-users.js';
import { USERS } from '../addresses.js';
import type { Site } from '../site.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { UsersPage } from './users-page.js';

const action = <Path extends string>(path: Path) =>
  createRoute({
    method: 'post',
    path,
    request: { params: UserParameters },
    responses: { 303: { description: 'Done' } },
  });

export const USER_PAGE_ROUTES = {
  usersPage: createRoute({
    method: 'get',
    path: USERS,
    request: { query: z.object({ after: UserParameters.shape.id.optional(), q: UsersQuery.shape.q }) },
    responses: { 200: { description: 'People who signed in' } },
  }),
  suspendUser: action('/operate/users/{id}/suspend'),
  restoreUser: action('/operate/users/{id}/restore'),
  signOutUser: action('/operate/users/{id}/sign-out'),
} as const;

export interface UserPageDeps extends UserDeps {
  store: UserDeps['store'] & SessionStore;
  site: Site;
}

const ON_A_PAGE = 30;

/** The pages on which administrators see users, suspend them, and end their sessions. */
export function userPageRoutes(deps: UserPageDeps, pages: OperatorPages): void {
  const { store, clock, site } = deps;

  pages.page(USER_PAGE_ROUTES.usersPage, { needs: CHANGES }, async (_, { query }) => {
    const { users, next } = await listUsers(deps, { ...query, limit: ON_A_PAGE });
    const now = clock().toISOString();
    const countSessions = async (id: string) =>
      (await store.sessionsOfUser(id)).filter(({ expiresAt }) => expiresAt > now).length;
    const shown = await Promise.all(
      users.map(async (user) => ({ user, sessions: await countSessions(user.id) })),
    );
    const { q = '', after } = query;
    const body = <UsersPage users={shown} q={q} isFirst={after === undefined} {...defined({ next })} />;
    return { head: { title: 'Users', path: USERS }, body };
  });

  const changes: [keyof typeof USER_PAGE_ROUTES, (id: string, caller: Caller) => Promise<unknown>][] = [
    ['suspendUser', (id, caller) => suspendUser(deps, id, caller)],
    ['restoreUser', (id, caller) => restoreUser(deps, id, caller)],
    [
      'signOutUser',
      async (id, caller) => {
        await readUser(deps, id);
        await store.endSessionsOfUser(id, { at: clock().toISOString(), ...caller });
      },
    ],
  ];
  for (const [name, change] of changes) {
    const route = USER_PAGE_ROUTES[name] as (typeof USER_PAGE_ROUTES)['suspendUser'];
    pages.action(route, { needs: CHANGES, form: z.object({}) }, async (c, { params: { id } }, { token }) => {
      if (token.user?.id === id) {
        throw new KrmhubError('forbidden', 'nothing was changed: this is your own account', {
          hint: 'Ask another administrator.',
        });
      }
      await change(id, callerOf(c, token));
      return c.redirect(site.at(`${USERS}#${id}`), 303);
    });
  }
}
