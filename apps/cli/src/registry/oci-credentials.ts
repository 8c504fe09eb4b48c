import type { Credentials } from '@krmhub/oci';
import type { Io } from '../io/io.js';
import { isLoopback, registryUrl, tokenFor } from './connection.js';
import { dockerCredentials } from './docker-credentials.js';

/** krmhub registries take any user name beside a token. */
const USER = 'krmhub';

/**
 * The credentials for a registry of artifacts, by host and port: what `docker login` and the like keep, else the token of
 * the krmhub registry that commands are about, or of one that `krmhub login` knows, where it is the same host.
 */
export async function ociCredentials(
  io: Pick<Io, 'env'>,
  registry: string,
): Promise<Credentials | undefined> {
  return (await dockerCredentials(io, registry)) ?? (await ownToken(io, registry));
}

async function ownToken(io: Pick<Io, 'env'>, registry: string): Promise<Credentials | undefined> {
  const named = parsed(registryUrl(io, undefined));
  const url = named?.host === registry ? named : parsed(`${schemeFor(registry)}://${registry}`);
  if (url === undefined) return undefined;
  // A token in the environment is of the registry that is named beside it, and no other one gets it.
  const token = await tokenFor(url === named ? io : { env: { ...io.env, KRMHUB_TOKEN: '' } }, url);
  return token === undefined ? undefined : { username: USER, password: token };
}

function schemeFor(registry: string): 'http' | 'https' {
  return isLoopback(registry.replace(/:\d+$/, '')) ? 'http' : 'https';
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
