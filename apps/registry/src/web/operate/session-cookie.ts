import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { RegistryContext } from '../../http/context.js';
import type { Site } from '../site.js';
import type { Session } from './sessions.js';

const NAME = 'krmhub-user';

/** The cookie with the ID of a session. */
export interface SessionCookie {
  read(c: RegistryContext): string | undefined;
  set(c: RegistryContext, session: Session, now: number): void;
  clear(c: RegistryContext): void;
}

/**
 * Returns the cookie for the registry's URL. With https, its name gets a prefix, so no other host and no plain http
 * can set it. `__Host-` is the stronger prefix, and requires the path `/`, which only works if the public URL has no
 * path.
 */
export function sessionCookie(site: Site): SessionCookie {
  const url = site.publicUrl === undefined ? undefined : new URL(site.publicUrl);
  const secure = url?.protocol === 'https:';
  const isHost = secure && url.pathname === '/';
  const name = isHost ? `__Host-${NAME}` : secure ? `__Secure-${NAME}` : NAME;
  const attributes = {
    path: site.at('') === '' ? '/' : site.at(''),
    secure,
    httpOnly: true,
    sameSite: 'Strict',
  } as const;
  return {
    read: (c) => getCookie(c, name),
    set: (c, { id, expires }, now) =>
      setCookie(c, name, id, {
        ...attributes,
        secure: secure || (url === undefined && isSentByHttps(c)),
        maxAge: Math.floor((expires - now) / 1000),
      }),
    clear: (c) => void deleteCookie(c, name, attributes),
  };
}

/** Without a public URL, only the browser knows whether a proxy uses https. */
function isSentByHttps(c: RegistryContext): boolean {
  return c.req.header('origin')?.startsWith('https:') === true;
}
