/**
 * The program of the registry server, and what all of its modules share: limits, the log, and metrics.
 *
 * @module
 */

import { KrmhubError } from '@krmhub/schema';
import { createLog, LogOutput, loadConfig, startRegistry } from './server/serve.js';

/** Runs the server. Only this file of the package uses `process`. */
async function main(): Promise<void> {
  // Files of a registry are for its account only: the database has the hashes of tokens.
  process.umask(0o077);
  const config = await loadConfig(process.env, {}, process.cwd());
  const output = new LogOutput(process.stderr);
  const log = createLog(config.logLevel, output);
  const registry = await startRegistry({ config, log, unwrittenLogLines: () => output.dropped });
  const stop = () => {
    registry.close().catch((error: unknown) => {
      log.fatal({ err: error }, 'the registry did not stop cleanly');
      process.exitCode = 5;
    });
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

try {
  await main();
} catch (error) {
  const text =
    error instanceof KrmhubError ? `${error.message}\n${error.hint ?? ''}` : String((error as Error).stack);
  process.stderr.write(`${text.trimEnd()}\n`);
  process.exitCode = error instanceof KrmhubError && error.code === 'usage' ? 2 : 5;
}
