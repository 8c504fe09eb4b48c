import { createRoute, z } from '@hono/zod-openapi';
import { UserParameters, UsersQuery } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { callerOf } from '../../http/auth/caller.js';
import { hasProvider } from '../../http/auth/tokens.js';
import {
  type Administrator,
  listUsers,
  restoreUser,
  signOutUser,
  suspendUser,
  type UserDeps,
} from '../../users/manage-users.js';
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

type UserAction = (typeof USER_PAGE_ROUTES)['suspendUser' | 'restoreUser' | 'signOutUser'];

export interface UserPageDeps extends UserDeps {
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
      users.map(async (user) => ({
        user,
        sessions: await countSessions(user.id),
        hasProvider: hasProvider(user, deps.config),
      })),
    );
    const { q = '', after } = query;
    const body = <UsersPage users={shown} q={q} isFirst={after === undefined} {...defined({ next })} />;
    return { head: { title: 'Users', path: USERS }, body };
  });

  const change = (route: UserAction, run: (id: string, by: Administrator) => Promise<unknown>) =>
    pages.action(route, { needs: CHANGES, form: z.object({}) }, async (c, { params: { id } }, { token }) => {
      await run(id, { ...callerOf(c, token), user: token.user?.id });
      return c.redirect(site.at(`${USERS}#${id}`), 303);
    });
  change(USER_PAGE_ROUTES.suspendUser, (id, by) => suspendUser(deps, id, by));
  change(USER_PAGE_ROUTES.restoreUser, (id, by) => restoreUser(deps, id, by));
  change(USER_PAGE_ROUTES.signOutUser, (id, by) => signOutUser(deps, id, by));
}
