import type { Environment, Trace } from '@krmhub/consume/ports';
import type { SourceCredentials } from '@krmhub/sources';
import { dockerCredentials } from './docker-credentials.js';
import { krmhubCredentials, withTokenServices } from './oci-credentials.js';
import { allowsPlainHttp } from './plain-http.js';

/**
 * Returns the credentials for a host, as for OCI artifacts; none for a URL without TLS, unless the user
 * allows it. A krmhub registry gets its
 * token only if it asks for it, because reading a catalog needs none.
 */
export async function sourceCredentials(
  io: Environment & Trace,
  origin: string,
): Promise<SourceCredentials | undefined> {
  const { protocol, host } = new URL(origin);
  if (protocol !== 'https:' && !allowsPlainHttp(io, host)) return undefined;
  const stored = await dockerCredentials(io, host);
  if (stored === undefined) {
    const own = await krmhubCredentials(io, new URL(origin));
    return own && { ...withTokenServices(io, host, own), onlyIfAsked: true };
  }
  const credentials = withTokenServices(io, host, stored);
  if ('username' in credentials) return credentials;
  const { identityToken: token, ...others } = credentials;
  return { token, ...others };
}
