import type { SourceCredentials } from '@krmhub/sources';
import type { Io } from '../io/io.js';
import { isLoopback } from './connection.js';
import { ociCredentials } from './oci-credentials.js';

/** Returns the credentials for a host, as for OCI artifacts; none for a URL without TLS. */
export async function sourceCredentials(
  io: Pick<Io, 'env'>,
  origin: string,
): Promise<SourceCredentials | undefined> {
  const { protocol, host, hostname } = new URL(origin);
  if (protocol !== 'https:' && !isLoopback(hostname)) return undefined;
  const credentials = await ociCredentials(io, host);
  if (credentials === undefined || 'username' in credentials) return credentials;
  const { identityToken: token, ...others } = credentials;
  return { token, ...others };
}
