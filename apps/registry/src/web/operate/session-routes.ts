import { createRoute, z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import { callerOf } from '../../http/auth/caller.js';
import type { SessionStore } from '../../store/session-store.js';
import { END_OTHER_SESSIONS, OPERATE } from '../addresses.js';
import type { Site } from '../site.js';
import type { Operator } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { sessionName } from './own-sections.js';

export const SESSION_ROUTES = {
  endSession: createRoute({
    method: 'post',
    path: '/operate/sessions/{session}/end',
    request: { params: z.object({ session: z.string().regex(/^[0-9a-f]{16}$/, 'is not a session') }) },
    responses: { 303: { description: 'Ended' } },
  }),
  endOtherSessions: createRoute({
    method: 'post',
    path: END_OTHER_SESSIONS,
    responses: { 303: { description: 'Ended' } },
  }),
} as const;

/** With these forms, a user ends sessions. */
export function sessionRoutes(
  { store, site, clock }: { store: SessionStore; site: Site; clock: () => Date },
  pages: OperatorPages,
): void {
  const form = z.object({});
  const act = (c: Parameters<typeof callerOf>[0], { token }: Operator) => ({
    at: clock().toISOString(),
    ...callerOf(c, token),
  });

  pages.action(SESSION_ROUTES.endSession, { form }, async (c, { params }, operator) => {
    const sessions = await store.sessionsOfUser(ownUser(operator).user);
    const found = sessions.find((session) => sessionName(session) === params.session);
    if (found !== undefined) await store.endSession(found.hash, act(c, operator));
    return c.redirect(site.at(`${OPERATE}#sessions`), 303);
  });

  pages.action(SESSION_ROUTES.endOtherSessions, { form }, async (c, _, operator) => {
    const { user, hash } = ownUser(operator);
    await store.endSessionsOfUser(user, act(c, operator), hash);
    return c.redirect(site.at(`${OPERATE}#sessions`), 303);
  });
}

function ownUser({ session: { of } }: Operator): { user: string; hash: string } {
  if ('user' in of) return of;
  throw new KrmhubError('forbidden', 'a token has no list of sessions', {
    hint: 'To end all of its sessions, revoke the token.',
  });
}
