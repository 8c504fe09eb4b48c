import type { Environment, Trace } from '@krmhub/consume/ports';
import type { Credentials } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { SourceCredentials } from '@krmhub/sources';
import { TOKEN_USER } from '@krmhub/sources/actor';
import { environmentToken, tokenFor } from './credentials.js';
import { allowsPlainHttp } from './plain-http.js';

/**
 * Decides which credentials belong to a URL, for every request of the command line. The first of: the token of a krmhub
 * registry, which belongs to one origin; the credentials of docker, which belong to a host and port; and over HTTP those
 * of `.netrc`, which belong to a host. None of them goes to another machine without TLS.
 */
type Found = { token: string } | Credentials;

interface Options {
  /** Host and port as the user wrote them. Default: those of the URL. */
  name?: string;
  /** Hosts that get credentials without TLS, besides those of KRMHUB_PLAIN_HTTP. */
  plainHttp?: readonly string[];
}

/** Returns the token for the API of a registry. */
export async function findToken(io: Environment & Trace, registry: URL): Promise<string | undefined> {
  const token = await tokenFor(io, registry);
  return token === undefined || !mayGet(io, registry) ? undefined : token;
}

/**
 * Returns the token for a request that needs one, `given` before all others. Throws `unauthorized` if KRMHUB_TOKEN
 * belongs to another registry, or if the connection has no TLS.
 */
export async function requiredToken(
  io: Environment & Trace,
  registry: URL,
  given?: string,
): Promise<string | undefined> {
  const token = given ?? (await tokenFor(io, registry));
  const elsewhere = environmentToken(io);
  if (token === undefined && elsewhere !== undefined) {
    throw new KrmhubError(
      'unauthorized',
      `no token for ${registry.origin}: KRMHUB_TOKEN is for ${elsewhere.origin ?? 'another registry'}`,
      {
        hint: `If it is a token of this registry, set KRMHUB_REGISTRY=${registry.origin}. Else: krmhub login ${registry.origin}`,
      },
    );
  }
  if (token !== undefined) refuseUnencrypted(io, registry);
  return token;
}

/** Returns the credentials for a file over HTTP. Throws `unauthorized` if the connection has no TLS. */
export async function httpCredentials(
  io: Environment & Trace,
  url: URL,
): Promise<SourceCredentials | undefined> {
  const found = await find(io, url, 'http');
  return found === undefined || 'identityToken' in found ? undefined : found;
}

/** Returns the credentials for an OCI registry. Throws `unauthorized` if the connection has no TLS. */
export async function ociCredentials(
  io: Environment & Trace,
  url: URL,
  options: Options = {},
): Promise<Credentials | undefined> {
  const found = await find(io, url, 'oci', options);
  if (found === undefined) return undefined;
  const credentials = 'token' in found ? { username: TOKEN_USER, password: found.token } : found;
  const services = tokenServices(io, options.name ?? url.host);
  return services.length === 0 ? credentials : { ...credentials, tokenServices: services };
}

async function find(
  io: Environment & Trace,
  url: URL,
  use: 'http' | 'oci',
  { name = url.host, plainHttp }: Options = {},
): Promise<Found | undefined> {
  const found =
    (await ownToken(io, url)) ?? (await dockerLogin(io, name)) ?? (await netrcEntry(io, url, use));
  if (found !== undefined && !mayGet(io, url, plainHttp)) throw unencrypted(url.host);
  return found;
}

async function ownToken(io: Environment & Trace, url: URL): Promise<{ token: string } | undefined> {
  const token = await tokenFor(io, url);
  return token === undefined ? undefined : { token };
}

async function dockerLogin(io: Environment & Trace, name: string): Promise<Credentials | undefined> {
  return (await import('./docker-credentials.js')).dockerCredentials(io, name);
}

async function netrcEntry(
  io: Environment & Trace,
  url: URL,
  use: 'http' | 'oci',
): Promise<Credentials | undefined> {
  return use === 'oci' ? undefined : (await import('./netrc.js')).netrcCredentials(io, url.hostname);
}

function mayGet(io: Environment, { protocol, host }: URL, plainHttp?: readonly string[]): boolean {
  return protocol === 'https:' || allowsPlainHttp(io, host, plainHttp);
}

/** Throws `unauthorized` if credentials must not be sent to a registry, because the connection has no TLS. */
export function refuseUnencrypted(io: Environment, registry: URL): void {
  if (!mayGet(io, registry)) throw unencrypted(registry.host);
}

/** The refusal to send credentials to a host (and port) of another machine without TLS. */
function unencrypted(host: string): KrmhubError {
  return new KrmhubError('unauthorized', `cannot send credentials to ${host}: the connection has no TLS`, {
    hint: `Use https, or allow it: KRMHUB_PLAIN_HTTP=${host}`,
  });
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
