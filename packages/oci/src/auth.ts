import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';

/** Stored credentials for a registry: basic authentication, or an identity token to get access tokens with. */
export type Credentials = ({ username: string; password: string } | { identityToken: string }) & {
  /** Origins of token services on other hosts that may get the credentials too. */
  tokenServices?: readonly string[];
};

/** The token services of public registries that have theirs on another host, by the host of the registry. */
const PUBLIC_TOKEN_SERVICES: Readonly<Record<string, string>> = {
  'index.docker.io': 'https://auth.docker.io',
  'registry-1.docker.io': 'https://auth.docker.io',
  'registry.gitlab.com': 'https://gitlab.com',
};

/** A token service on another host than its registry, which must not get the credentials. */
export class ForeignTokenService extends KrmhubError {}

/** The authentication scheme of a registry (RFC 9110, and the token specification of distribution). */
export type Challenge =
  | { scheme: 'basic' }
  | { scheme: 'bearer'; realm: string; service: string | undefined; scope: string | undefined };

/** Parses WWW-Authenticate and prefers Bearer. Returns undefined for other schemes. */
export function readChallenge(header: string | undefined): Challenge | undefined {
  if (header === undefined) return undefined;
  const bearer = /(?:^|,\s*)Bearer\s+(.*)$/i.exec(header)?.[1];
  if (bearer !== undefined) {
    const parameters = new Map(
      [...bearer.matchAll(/([a-zA-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)].map(
        ([, name = '', quoted, plain]) => [
          name.toLowerCase(),
          quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '',
        ],
      ),
    );
    const realm = parameters.get('realm');
    if (realm !== undefined) {
      return { scheme: 'bearer', realm, service: parameters.get('service'), scope: parameters.get('scope') };
    }
  }
  return /(?:^|,\s*)Basic\b/i.test(header) ? { scheme: 'basic' } : undefined;
}

export function basicAuthorization({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** A request to a token service: a URL to GET, or a form to POST an identity token. */
export interface TokenRequest {
  url: URL;
  authorization?: string;
  form?: URLSearchParams;
}

/**
 * Builds the request for an access token. Credentials are for the host and port of the registry: a token service on
 * another host gets them only if it is a known or an allowed one. Throws `unreachable` for an invalid realm,
 * `unauthorized` for one that must not get the credentials. `registry` is the URL of the registry, `name` its host and
 * port as the user wrote it.
 */
export function buildTokenRequest(
  challenge: Challenge & { scheme: 'bearer' },
  options: { scopes: readonly string[]; credentials: Credentials | undefined; registry: URL; name?: string },
): TokenRequest {
  const { scopes, credentials, registry, name = registry.host } = options;
  const url = parseUrl(challenge.realm);
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
    throw invalidRealm(challenge.realm, 'which is not a valid URL');
  }
  if (registry.protocol === 'https:' && url.protocol !== 'https:')
    throw invalidRealm(challenge.realm, 'which does not use TLS');
  if (credentials !== undefined && !mayGetCredentials(url, registry, credentials))
    throw foreignTokenService(url, name);
  const { service } = challenge;
  if (credentials !== undefined && 'identityToken' in credentials) {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'krmhub',
      refresh_token: credentials.identityToken,
      scope: scopes.join(' '),
    });
    if (service !== undefined) form.set('service', service);
    return { url, form };
  }
  if (service !== undefined) url.searchParams.set('service', service);
  for (const scope of scopes) url.searchParams.append('scope', scope);
  return {
    url,
    ...defined({ authorization: credentials === undefined ? undefined : basicAuthorization(credentials) }),
  };
}

/** Parses the response of a token service; the token is valid for `milliseconds`. Throws `unreachable`. */
export function readToken(text: string): { token: string; milliseconds: number } {
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    response = undefined;
  }
  const fields =
    typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {};
  const token = fields.token ?? fields.access_token;
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new KrmhubError('unreachable', 'the token service of the registry returned no token');
  }
  // The default of the specification; some services return 0 or nothing.
  const seconds = typeof fields.expires_in === 'number' && fields.expires_in > 0 ? fields.expires_in : 60;
  return { token, milliseconds: seconds * 1_000 };
}

function mayGetCredentials(service: URL, registry: URL, { tokenServices = [] }: Credentials): boolean {
  return (
    service.host === registry.host ||
    service.origin === PUBLIC_TOKEN_SERVICES[registry.host] ||
    tokenServices.includes(service.origin)
  );
}

function foreignTokenService(service: URL, registry: string): ForeignTokenService {
  return new ForeignTokenService(
    'unauthorized',
    `${registry} uses a token service on another host, ${service.origin}; krmhub does not send credentials there`,
    { hint: `If you trust this token service, set KRMHUB_TOKEN_SERVICES=${registry}=${service.origin}` },
  );
}

function invalidRealm(realm: string, why: string): KrmhubError {
  return new KrmhubError('unreachable', `cannot get a token from ${printable(realm)}, ${why}`, {
    hint: 'Check the registry. krmhub does not send credentials to such a token service.',
  });
}
