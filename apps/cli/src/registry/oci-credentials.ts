import { parseUrl } from '@krmhub/schema/parse-url';
import type { Credentials } from '@krmhub/oci';
import type { Io } from '../io/io.js';
import { isLoopback, registryUrl, tokenFor } from './connection.js';
import { dockerCredentials } from './docker-credentials.js';

/** krmhub registries accept any user name with a token. */
const USER = 'krmhub';

/**
 * Returns the credentials for an OCI registry, by host and port: those of `docker login`, else the token of the configured
 * krmhub registry or of `krmhub login` for the same host.
 */
export async function ociCredentials(
  io: Pick<Io, 'env'>,
  registry: string,
): Promise<Credentials | undefined> {
  return (await dockerCredentials(io, registry)) ?? (await registryToken(io, registry));
}

async function registryToken(io: Pick<Io, 'env'>, registry: string): Promise<Credentials | undefined> {
  const named = parseUrl(registryUrl(io, undefined));
  const url = named?.host === registry ? named : parseUrl(`${schemeFor(registry)}://${registry}`);
  if (url === undefined) return undefined;
  // KRMHUB_TOKEN belongs to the configured registry; no other registry gets it.
  const token = await tokenFor(url === named ? io : { env: { ...io.env, KRMHUB_TOKEN: '' } }, url);
  return token === undefined ? undefined : { username: USER, password: token };
}

function schemeFor(registry: string): 'http' | 'https' {
  return isLoopback(registry.replace(/:\d+$/, '')) ? 'http' : 'https';
}
