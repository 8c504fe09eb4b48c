import { type ClientOptions, OciClient } from '@krmhub/oci';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import type { Progress } from '../io/progress.js';
import { VERSION } from '../io/version.js';
import { isLoopback, proxyAgentFor } from './connection.js';
import { ociCredentials } from './oci-credentials.js';

export interface OciOptions {
  /** Hosts of registries without TLS. Local ones never have it. */
  plainHttp?: readonly string[];
  /** URL of the krmhub registry that KRMHUB_TOKEN belongs to. Default: the configured one. */
  registry?: string;
}

/** Returns an OCI client. It uses HTTP without TLS for local registries and for those in `plainHttp`. */
export function createOciClient(
  io: Pick<Io, 'env'>,
  options: OciOptions & { onRetry?: ClientOptions['onRetry'] } = {},
): OciClient {
  const { plainHttp = [], registry: configured, onRetry } = options;
  return new OciClient({
    userAgent: `krmhub/${VERSION}`,
    credentials: (registry) => ociCredentials(io, registry, configured),
    plainHttp: (registry) =>
      plainHttp.includes(registry) ||
      plainHttp.includes(registry.replace(/:\d+$/, '')) ||
      isLoopback(registry.replace(/:\d+$/, '')),
    agent: (url) => proxyAgentFor(io, url),
    ...(onRetry === undefined ? {} : { onRetry }),
  });
}

/** Returns an OCI client that prints retries, for commands with a progress line. */
export function connectOci(
  io: Io,
  progress: Progress,
  { plainHttp = [], registry }: OciOptions = {},
): OciClient {
  return createOciClient(io, {
    plainHttp,
    ...(registry === undefined ? {} : { registry }),
    onRetry: async (error, milliseconds) => {
      await progress.clear();
      await printLine(io, `${error.message}; retrying in ${(milliseconds / 1_000).toFixed(1)} s`);
    },
  });
}
