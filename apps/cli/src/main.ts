import { constants } from 'node:os';
import { FAILED } from './io/exit-code.js';
import type { Io } from './io/io.js';
import { runProgram } from './program.js';

/** The only file of the command line that uses the process. */

// Each write gets its own error (`write`, `LogOutput`). Without a listener, the event would end the process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const signals = ['SIGINT', 'SIGTERM'] as const;

const io: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: Object.assign(process.stderr, { isLossy: true }),
  env: process.env,
  cwd: process.cwd(),
  exitCode: 0,
  now: () => new Date(),
  setUmask: (mask) => void process.umask(mask),
  // Without a caller, signals keep their default behavior.
  waitForStop: () =>
    new Promise((resolve) => {
      for (const signal of signals) {
        process.once(signal, () => {
          // A second signal ends the process at once.
          for (const other of signals)
            process.once(other, () => process.exit(128 + constants.signals[other]));
          resolve();
        });
      }
    }),
};

try {
  await runProgram(process.argv.slice(2), io);
  process.exitCode = io.exitCode;
} catch (error) {
  // Too few even for the file that prints errors.
  if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  process.stderr.write(
    'error: cannot load krmhub: too many open files\n  hint: Raise the limit: ulimit -n 65536\n',
  );
  process.exitCode = FAILED;
}
