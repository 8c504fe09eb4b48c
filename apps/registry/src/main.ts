import { KrmhubError } from '@krmhub/schema';
import { destination } from 'pino';
import { createLog, loadConfig, startRegistry } from './server/serve.js';

/** Runs the server. Only this file of the package uses `process`. */
async function main(): Promise<void> {
  const config = await loadConfig(process.env, {}, process.cwd());
  const log = createLog(config.logLevel, destination({ dest: 2, sync: true }));
  const registry = await startRegistry({ config, log });
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
