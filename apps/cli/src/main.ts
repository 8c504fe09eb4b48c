/**
 * Starts the command line; the plugins of kustomize start in `plugin.ts`.
 *
 * Only these two files use the streams and the exit code of the process; all other code gets an `Io`. `program.ts`
 * lists the commands, and loads only those that a run needs.
 *
 * @module
 */

import { FAILED } from './io/exit-code.js';
import { processIo } from './io/process-io.js';
import { runProgram } from './program.js';

const io = processIo(process);

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
