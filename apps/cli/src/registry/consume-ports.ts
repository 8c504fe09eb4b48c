import type { Ports } from '@krmhub/consume/ports';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { printLine, printWarning } from '../io/print.js';
import { VERSION } from '../io/version.js';

/** What the library asks of a command: warnings and reports go to stderr. Loads a client only when it is needed. */
export function consumePorts(io: Io): Ports {
  const { env, cwd, snapshotLimits, trace, defaultRegistry } = io;
  return {
    env,
    cwd,
    version: VERSION,
    now: io.now,
    warn: (text) => printWarning(io, text),
    report: (text) => printLine(io, text),
    fetch: {
      openSources: async (options) => (await import('./source-fetcher.js')).sourceFetcher(io, options),
      openOci: async (options) => (await import('./connect-oci.js')).openOci(io, options),
      connect: async (registry, { anonymous, timeoutMilliseconds }) => {
        const { connect, connectAnonymously } = await import('./connection.js');
        return anonymous === true
          ? connectAnonymously(io, registry, timeoutMilliseconds)
          : connect(io, registry, { timeoutMilliseconds });
      },
    },
    ...defined({ snapshotLimits, trace, defaultRegistry }),
  };
}
