/** Runs a role in a worker thread: the side of the thread that calls it. */

import type { Log } from '../../log.js';
import type { ThreadEntry } from './built-entry.js';
import { forwardLogLine } from './forward-log.js';
import type { Methods, Reports } from './role.js';
import type { RoleInput } from './serve-role.js';
import { startWorker } from './start-worker.js';
import { Thread } from './thread.js';

export interface InThreadOptions<Notices> {
  /** What the role is opened with, read at each start: a thread that fails starts again. */
  input: () => unknown;
  log: Log;
  /** Called with the statements of the database that the thread has run. */
  countStatements?(statements: number): void;
  /** Called with what the role reports. */
  on?: Notices;
}

/** Returns a thread that serves a role. It starts with the first call. */
export function inThread<Role extends Methods<Role>, Notices extends Reports<Notices> = object>(
  entry: ThreadEntry,
  { input, log, countStatements, on }: InThreadOptions<Notices>,
): Thread<Role> {
  const handlers: Record<string, (notice: never) => void> = {
    ...on,
    log: (line: string) => forwardLogLine(log, line),
    statements: (statements: number) => countStatements?.(statements),
  };
  return new Thread<Role>({
    name: entry,
    start: () =>
      startWorker(entry, { workerData: { input: input(), logLevel: log.level } satisfies RoleInput }),
    log,
    onNotice: (name, notice) => handlers[name]?.(notice as never),
  });
}
