import { type TokenRecord, tokenActor } from '@krmhub/catalog';
import { tokenProblem, withCurrentGroups } from '../../http/auth/tokens.js';
import { sessionToken } from '../../http/auth/user-session.js';
import type { RegistryContext, Visitor } from '../../http/context.js';
import { SiteProvider } from '../site.js';
import { SessionLine } from './frame.js';
import type { OperatorPagesDeps } from './operator-pages.js';
import { sessionCookie } from './session-cookie.js';
import type { Session } from './sessions.js';

/** Where the content of a page begins; the layout has it once, and texts are escaped. */
const CONTENT = /<main id="main"[^>]*>/;

/**
 * Returns how to find the signed-in user who asks for a page that anybody may open: by the cookie, which only pages
 * read. It checks the token at each request.
 */
export function findVisitors({
  store,
  clock,
  site,
  access,
  config,
  sessions,
}: OperatorPagesDeps): (c: RegistryContext) => Promise<Visitor | undefined> {
  const cookie = sessionCookie(site);
  return async (c) => {
    const id = cookie.read(c);
    const now = clock();
    const session = id === undefined ? undefined : await sessions.find(id, now.getTime());
    const found = session && (await sessionCredential(store, session.of));
    if (session === undefined || found === undefined) return undefined;
    const token = withCurrentGroups(found, now, config);
    if (tokenProblem(token, now, config) !== undefined) return undefined;
    const operator = { session, token, rules: access.rules };
    const line = (
      <SiteProvider value={site}>
        <SessionLine operator={operator} />
      </SiteProvider>
    );
    return { actor: tokenActor(access.rules, token), line: String(line) };
  };
}

async function sessionCredential(
  store: OperatorPagesDeps['store'],
  of: Session['of'],
): Promise<TokenRecord | undefined> {
  if ('tokenHash' in of) return store.tokenByHash(of.tokenHash);
  const user = await store.user(of.user);
  return user && sessionToken(of, user);
}

/**
 * Adds to the page of a visitor who is signed in. The page itself is rendered for everybody who may read the same. It is
 * not compressed, because the key of the session is in it.
 */
export async function addVisitorLine(c: RegistryContext): Promise<void> {
  const line = c.get('visitor')?.line;
  const { res } = c;
  if (line === undefined || res.headers.get('content-type')?.startsWith('text/html') !== true) return;
  const headers = new Headers(res.headers);
  for (const name of ['ETag', 'Content-Length']) headers.delete(name);
  const page = res.body === null ? null : await res.text();
  const shown = page?.replace(CONTENT, (content) => `${content}${line}`) ?? null;
  // Otherwise, the framework copies the old fields.
  c.res = undefined;
  c.res = new Response(shown, { status: res.status, headers });
}
