import { type ClientOptions, OciClient } from '@krmhub/oci';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import type { Progress } from '../io/progress.js';
import { VERSION } from '../io/version.js';
import { isLoopback, proxyAgentFor } from './connection.js';
import { ociCredentials } from './oci-credentials.js';

/** Returns an OCI client. It uses HTTP without TLS for local registries and for those in `plainHttp`. */
export function createOciClient(
  io: Pick<Io, 'env'>,
  options: { plainHttp?: readonly string[]; onRetry?: ClientOptions['onRetry'] } = {},
): OciClient {
  const { plainHttp = [], onRetry } = options;
  return new OciClient({
    userAgent: `krmhub/${VERSION}`,
    credentials: (registry) => ociCredentials(io, registry),
    plainHttp: (registry) =>
      plainHttp.includes(registry) ||
      plainHttp.includes(registry.replace(/:\d+$/, '')) ||
      isLoopback(registry.replace(/:\d+$/, '')),
    agent: (url) => proxyAgentFor(io, url),
    ...(onRetry === undefined ? {} : { onRetry }),
  });
}

/** Returns an OCI client that prints retries, for commands with a progress line. */
export function connectOci(io: Io, progress: Progress, plainHttp: readonly string[] = []): OciClient {
  return createOciClient(io, {
    plainHttp,
    onRetry: async (error, milliseconds) => {
      await progress.clear();
      await printLine(io, `${error.message}; retrying in ${(milliseconds / 1_000).toFixed(1)} s`);
    },
  });
}
