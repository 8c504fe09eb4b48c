import type { Environment, Trace } from '@krmhub/consume/ports';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import type { Credentials } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { tokenFor } from './credentials.js';
import { dockerCredentials } from './docker-credentials.js';
import { isLoopback } from './plain-http.js';

/** krmhub registries accept any user name with a token. */
const USER = 'krmhub';

/**
 * Returns the credentials for an OCI registry, by host and port: those of `docker login`, else the token of the
 * configured krmhub registry or of `krmhub login` for the same host. `configured` is the URL of the option --registry,
 * if there is one.
 */
export async function ociCredentials(
  io: Environment & Trace,
  registry: string,
  configured?: string,
): Promise<Credentials | undefined> {
  const stored = await dockerCredentials(io, registry);
  if (stored !== undefined) return withTokenServices(io, registry, stored);
  const named = parseUrl(registryUrl(io, configured));
  const url = named?.host === registry ? named : parseUrl(`${schemeFor(registry)}://${registry}`);
  const own = url && (await krmhubCredentials(io, url));
  return own && withTokenServices(io, registry, own);
}

/** Returns the token of a krmhub registry as credentials. */
export async function krmhubCredentials(
  io: Environment & Trace,
  url: URL,
): Promise<{ username: string; password: string } | undefined> {
  const token = await tokenFor(io, url);
  return token === undefined ? undefined : { username: USER, password: token };
}

/** Adds the token services that may get the credentials of a registry. */
export function withTokenServices<T extends Credentials>(
  io: Environment,
  registry: string,
  credentials: T,
): T {
  const services = tokenServices(io, registry);
  return services.length === 0 ? credentials : { ...credentials, tokenServices: services };
}

/** Returns the token services in KRMHUB_TOKEN_SERVICES that may get the credentials for a registry. */
function tokenServices({ env }: Environment, registry: string): string[] {
  const pairs = (env.KRMHUB_TOKEN_SERVICES ?? '').split(',').filter((pair) => pair.trim() !== '');
  return pairs.flatMap((pair) => {
    const [host = '', origin = '', ...others] = pair.trim().split('=');
    if (others.length === 0 && host !== '' && parseUrl(origin)?.origin === origin)
      return canonicalHost(host) === canonicalHost(registry) ? [origin] : [];
    throw new KrmhubError('usage', 'KRMHUB_TOKEN_SERVICES is not a list of REGISTRY=ORIGIN', {
      hint: 'Set it, for example: KRMHUB_TOKEN_SERVICES=registry.example.com=https://auth.example.com',
    });
  });
}

/** Returns one spelling of a registry: without case, the default port, and the other names of docker.io. */
function canonicalHost(registry: string): string {
  const host = parseUrl(`https://${registry}`)?.host ?? registry;
  return ['index.docker.io', 'registry-1.docker.io'].includes(host) ? 'docker.io' : host;
}

function schemeFor(registry: string): 'http' | 'https' {
  return isLoopback(registry.replace(/:\d+$/, '')) ? 'http' : 'https';
}
