import { KrmhubError } from '@krmhub/schema/error';
import { printError } from './io/error.js';
import { EXIT_CODE, FAILED } from './io/exit-code.js';
import { processIo } from './io/process-io.js';
import { runPlugin } from './kustomize/plugins/run-plugin.js';

/** What the plugins of kustomize start: a program of its own, because all of the command line takes longer to load. */

const io = processIo(process);

try {
  await runPlugin(io, process.argv.slice(2));
  process.exitCode = io.exitCode;
} catch (error) {
  await printError(io, error);
  process.exitCode = error instanceof KrmhubError ? EXIT_CODE[error.code] : FAILED;
}
