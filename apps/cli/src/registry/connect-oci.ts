import { type ClientOptions, OciClient } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Io, RequestSettings } from '../io/io.js';
import { printLine } from '../io/print.js';
import type { Progress } from '../io/progress.js';
import { VERSION } from '../io/version.js';
import { proxyAgentFor } from './connection.js';
import { ociCredentials, requiredToken } from './find-credentials.js';
import { allowsPlainHttp } from './plain-http.js';

export interface OciOptions {
  /** Hosts of registries without TLS that get credentials. Local ones never have it. */
  plainHttp?: readonly string[];
  /** URL of the krmhub registry. If it has no TLS, krmhub only reads anonymously from there. */
  registry?: string;
  /** Send no credentials. */
  anonymous?: boolean;
}

/** Returns an OCI client. It uses HTTP without TLS for local registries, for `plainHttp` and KRMHUB_PLAIN_HTTP. */
export function createOciClient(
  io: RequestSettings,
  options: OciOptions & Pick<ClientOptions, 'onRetry' | 'onRefused' | 'signal'> = {},
): OciClient {
  const { plainHttp = [], registry: configured, anonymous, onRetry, onRefused, signal } = options;
  const own = configured === undefined ? undefined : parseUrl(configured);
  const isPlain = (registry: string) =>
    allowsPlainHttp(io, registry, plainHttp) || (own?.protocol === 'http:' && own.host === registry);
  return new OciClient({
    userAgent: `krmhub/${VERSION}`,
    credentials: async (registry) => {
      if (anonymous === true) return undefined;
      const url = parseUrl(`${isPlain(registry) ? 'http' : 'https'}://${registry}`);
      const credentials = url && (await ociCredentials(io, url, { name: registry, plainHttp }));
      if (credentials === undefined && own?.host === registry) await requiredToken(io, own);
      return credentials;
    },
    plainHttp: isPlain,
    agent: (url) => proxyAgentFor(io, url),
    ...defined({ idleMilliseconds: io.requestTimeout, onRetry, onRefused, signal }),
  });
}

/** The same; what a registry gave for credentials that it refuses now does not stay in the cache. */
export function openOci(
  io: Io,
  options: OciOptions & Pick<ClientOptions, 'onRetry' | 'signal'> = {},
): OciClient {
  return createOciClient(io, {
    ...options,
    onRefused: async (registry, credentials) => {
      const [{ forgetCredentials }, { sourceCredentials }] = await Promise.all([
        import('./forget-refused.js'),
        import('./source-fetcher.js'),
      ]);
      const address = { type: 'oci' as const, reference: `${registry}/` };
      await forgetCredentials(io, address, sourceCredentials(credentials));
    },
  });
}

/** Returns an OCI client that prints retries, for commands with a progress line. */
export function connectOci(
  io: Io,
  progress: Progress,
  { plainHttp = [], registry }: OciOptions = {},
): OciClient {
  return openOci(io, {
    plainHttp,
    ...defined({ registry }),
    onRetry: async (error, milliseconds) => {
      await progress.clear();
      await printLine(io, `${error.message}; retrying in ${(milliseconds / 1_000).toFixed(1)} s`);
    },
  });
}
