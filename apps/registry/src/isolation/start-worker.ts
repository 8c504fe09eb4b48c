import { createRequire } from 'node:module';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { SERVER_LIMITS } from '../limits.js';

export type ThreadEntry = 'search-thread' | 'cut-thread' | 'plan-thread' | 'erase-thread' | 'refresh-thread';

/** Starts one of the package's threads. A thread is always run as it was built, wherever it is started from. */
export function startWorker(entry: ThreadEntry, options: WorkerOptions = {}): Worker {
  const file = createRequire(import.meta.url).resolve(`@krmhub/registry/${entry}`);
  return new Worker(file, {
    name: entry,
    // Options of the process, such as a test runner's, are not for it.
    execArgv: [],
    ...options,
    // V8 fills what it is given.
    resourceLimits: { maxYoungGenerationSizeMb: SERVER_LIMITS.maxYoungMegabytes, ...options.resourceLimits },
  });
}
