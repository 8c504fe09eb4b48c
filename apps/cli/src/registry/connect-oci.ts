import { type ClientOptions, OciClient } from '@krmhub/oci';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import type { Progress } from '../io/progress.js';
import { VERSION } from '../io/version.js';
import { agentFor, isLoopback } from './connection.js';
import { ociCredentials } from './oci-credentials.js';

/** Speaks to this machine, and to registries named so, without TLS. */
export function ociClient(
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
    agent: (url) => agentFor(io, url),
    ...(onRetry === undefined ? {} : { onRetry }),
  });
}

/** For commands that show how far they are, and say when they try again. */
export function connectOci(io: Io, progress: Progress, plainHttp: readonly string[] = []): OciClient {
  return ociClient(io, {
    plainHttp,
    onRetry: async (error, milliseconds) => {
      await progress.clear();
      await printLine(io, `${error.message}; trying again in ${(milliseconds / 1_000).toFixed(1)} s`);
    },
  });
}
