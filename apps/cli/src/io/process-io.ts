import { constants } from 'node:os';
import { isOwnVariable } from './child-environment.js';
import type { Io } from './io.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Returns the environment of the process that runs. */
export function processIo(host: NodeJS.Process): Io {
  // Each write gets its own error (`write`, `LogOutput`). Without a listener, the event would end the process.
  for (const stream of [host.stdout, host.stderr]) stream.on('error', () => undefined);
  const env = { ...host.env };
  // A child that is given no environment inherits that of the process.
  for (const name of Object.keys(env)) if (isOwnVariable(name)) delete host.env[name];
  return {
    stdin: host.stdin,
    stdout: host.stdout,
    stderr: Object.assign(host.stderr, { isLossy: true }),
    env,
    cwd: host.cwd(),
    exitCode: 0,
    now: () => new Date(),
    setUmask: (mask) => void host.umask(mask),
    parentId: () => host.ppid,
    // Without a caller, signals keep their default behavior.
    waitForStop: () =>
      new Promise((resolve) => {
        for (const signal of SIGNALS) {
          host.once(signal, () => {
            // A second signal ends the process at once.
            for (const other of SIGNALS) host.once(other, () => host.exit(128 + constants.signals[other]));
            resolve();
          });
        }
      }),
  };
}
