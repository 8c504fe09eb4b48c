import { Worker, type WorkerOptions } from 'node:worker_threads';
import { SERVER_LIMITS } from '../limits.js';
import { builtEntry, type ThreadEntry } from './built-entry.js';

/** Starts one of the package's threads. */
export function startWorker(entry: ThreadEntry, options: WorkerOptions = {}): Worker {
  return new Worker(builtEntry(entry), {
    name: entry,
    // Options of the process, such as a test runner's, are not for it.
    execArgv: [],
    ...options,
    // V8 fills what it is given.
    resourceLimits: { maxYoungGenerationSizeMb: SERVER_LIMITS.maxYoungMegabytes, ...options.resourceLimits },
  });
}
