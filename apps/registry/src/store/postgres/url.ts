import { parseUrl } from '@krmhub/schema/parse-url';

/** Reports whether a text is the URL of a database in PostgreSQL. */
export function isPostgresUrl(url: string): boolean {
  // A URL of a socket has a user and no host, which URL refuses.
  const parsed = parseUrl(url.replace('@/', '@localhost/'));
  return (
    parsed !== undefined && /^postgres(?:ql)?:$/.test(parsed.protocol) && /^\/[^/]+$/.test(parsed.pathname)
  );
}
