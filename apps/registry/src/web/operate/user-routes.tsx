import { createRoute, z } from '@hono/zod-openapi';
import type { Act, UserStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { callerOf } from '../../http/auth/caller.js';
import type { SessionStore } from '../../store/session-store.js';
import { USERS } from '../addresses.js';
import type { Site } from '../site.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { UsersPage } from './users-page.js';

const UserId = z.uuid('is not the ID of a user');
const params = z.object({ id: UserId });
const action = <Path extends string>(path: Path) =>
  createRoute({
    method: 'post',
    path,
    request: { params },
    responses: { 303: { description: 'Done' } },
  });

export const USER_PAGE_ROUTES = {
  usersPage: createRoute({
    method: 'get',
    path: USERS,
    request: { query: z.object({ after: UserId.optional() }) },
    responses: { 200: { description: 'People who signed in' } },
  }),
  suspendUser: action('/operate/users/{id}/suspend'),
  restoreUser: action('/operate/users/{id}/restore'),
  signOutUser: action('/operate/users/{id}/sign-out'),
} as const;

export interface UserPageDeps {
  store: UserStore & SessionStore;
  clock: () => Date;
  site: Site;
}

const ON_A_PAGE = 30;

/** The pages on which administrators see users, suspend them, and end their sessions. */
export function userPageRoutes({ store, clock, site }: UserPageDeps, pages: OperatorPages): void {
  pages.page(USER_PAGE_ROUTES.usersPage, { needs: CHANGES }, async (_, { query: { after } }, { rules }) => {
    const found = await store.users({ ...defined({ after }), limit: ON_A_PAGE + 1 });
    const users = await Promise.all(
      found.slice(0, ON_A_PAGE).map(async (user) => ({
        user,
        teams: rules.teamsOf(user),
        sessions: (await store.sessionsOfUser(user.id)).length,
      })),
    );
    const next = found.length > ON_A_PAGE ? users.at(-1)?.user.id : undefined;
    const shown = { users, isFirst: after === undefined, ...defined({ next }) };
    return { head: { title: 'Users', path: USERS }, body: <UsersPage {...shown} /> };
  });

  const changes: [keyof typeof USER_PAGE_ROUTES, (id: string, act: Act) => Promise<unknown>][] = [
    ['suspendUser', (id, act) => store.suspendUser(id, true, act)],
    ['restoreUser', (id, act) => store.suspendUser(id, false, act)],
    ['signOutUser', (id, act) => store.endSessionsOfUser(id, act)],
  ];
  for (const [name, change] of changes) {
    const route = USER_PAGE_ROUTES[name] as (typeof USER_PAGE_ROUTES)['suspendUser'];
    pages.action(route, { needs: CHANGES, form: z.object({}) }, async (c, { params: { id } }, { token }) => {
      if ((await store.user(id)) === undefined) throw new KrmhubError('not-found', `user ${id} not found`);
      if (token.user?.id === id) {
        throw new KrmhubError('forbidden', 'nothing was changed: this is your own account', {
          hint: 'Ask another administrator.',
        });
      }
      await change(id, { at: clock().toISOString(), ...callerOf(c, token) });
      return c.redirect(site.at(`${USERS}#${id}`), 303);
    });
  }
}
