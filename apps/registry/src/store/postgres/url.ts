import { KrmhubError } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';

/** Values of `target_session_attrs` for a server that can be written. */
const PRIMARY: readonly (string | null)[] = [null, 'read-write', 'primary'];

/** Reports whether a text is the URL of a database in PostgreSQL. */
export function isPostgresUrl(url: string): boolean {
  return urlsOfHosts(url).every((one) => {
    // A URL of a socket has a user and no host, which URL refuses.
    const parsed = parseUrl(one.replace('@/', '@localhost/'));
    return (
      parsed !== undefined && /^postgres(?:ql)?:$/.test(parsed.protocol) && /^\/[^/]+$/.test(parsed.pathname)
    );
  });
}

/**
 * Returns a URL for each host of a URL as PostgreSQL has them: `HOST:PORT,HOST:PORT`, or lists in the parameters `host`
 * and `port`. Throws `usage` if `target_session_attrs` asks for a server that cannot be written.
 */
export function urlsOfHosts(url: string): string[] {
  const [address = '', query = ''] = url.split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  const attribute = params.get('target_session_attrs');
  if (!PRIMARY.includes(attribute)) {
    throw new KrmhubError('usage', `the URL of the database has target_session_attrs=${attribute}`, {
      hint: 'Use target_session_attrs=read-write: the registry needs the primary server.',
    });
  }
  const inQuery = params.get('host')?.split(',') ?? [];
  if (inQuery.length > 1) {
    const ports = params.get('port')?.split(',') ?? [];
    return inQuery.map((host, at) => {
      params.set('host', host);
      const port = ports[at] ?? ports[0];
      if (port) params.set('port', port);
      return `${address}?${params}`;
    });
  }
  const [, before, hosts = '', after] = /^(\w+:\/\/(?:[^/]*@)?)([^/]*)(.*)$/s.exec(address) ?? [];
  if (!hosts.includes(',')) return [url];
  return hosts.split(',').map((host) => `${before}${host}${after}${query && `?${query}`}`);
}
