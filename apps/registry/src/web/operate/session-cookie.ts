import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { RegistryContext } from '../../http/context.js';
import type { Site } from '../site.js';

/** A cookie of the registry. */
export interface OwnCookie {
  read(c: RegistryContext): string | undefined;
  /** Times are milliseconds since 1970. */
  set(c: RegistryContext, value: { text: string; expires: number }, now: number): void;
  clear(c: RegistryContext): void;
}

/** The cookie with the ID of a session. */
export const sessionCookie = (site: Site) => ownCookie(site, { name: 'krmhub-user', sameSite: 'Strict' });

/**
 * The cookie of a browser that signs in with a provider. The browser must send it when the provider, which is another
 * site, sends it back.
 */
export const flowCookie = (site: Site) => ownCookie(site, { name: 'krmhub-sign-in', sameSite: 'Lax' });

/**
 * Returns a cookie for the registry's URL. With https, its name gets a prefix, so no other host and no plain http
 * can set it. `__Host-` is the stronger prefix, and requires the path `/`, which only works if the public URL has no
 * path.
 */
function ownCookie(
  site: Site,
  { name: plain, sameSite }: { name: string; sameSite: 'Strict' | 'Lax' },
): OwnCookie {
  const url = site.publicUrl === undefined ? undefined : new URL(site.publicUrl);
  const secure = url?.protocol === 'https:';
  const isHost = secure && url.pathname === '/';
  const name = isHost ? `__Host-${plain}` : secure ? `__Secure-${plain}` : plain;
  const path = site.at('') === '' ? '/' : site.at('');
  const attributes = { path, secure, httpOnly: true, sameSite } as const;
  return {
    read: (c) => getCookie(c, name),
    set: (c, { text, expires }, now) =>
      setCookie(c, name, text, {
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
