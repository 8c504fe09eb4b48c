import type { TrustPorts } from '@krmhub/consume/ports';
import { defined } from '@krmhub/schema/defined';
import type { Io } from './io.js';
import { printLine, printWarning } from './print.js';

/** What the library asks of a command: warnings and reports go to stderr. */
export function consumePorts(io: Io): TrustPorts {
  const { env, cwd, snapshotLimits, trace } = io;
  return {
    env,
    cwd,
    now: () => io.now(),
    warn: (text) => printWarning(io, text),
    report: (text) => printLine(io, text),
    ...defined({ snapshotLimits, trace }),
  };
}
