import { Worker, type WorkerOptions } from 'node:worker_threads';
import { SERVER_LIMITS } from '../limits.js';
import { builtEntry, type ThreadEntry } from './built-entry.js';

/** Starts a thread of this package. */
export function startWorker(entry: ThreadEntry, options: WorkerOptions = {}): Worker {
  return new Worker(builtEntry(entry), {
    name: entry,
    // Do not inherit options of the process, for example of a test runner.
    execArgv: [],
    ...options,
    // V8 uses all memory that it is allowed.
    resourceLimits: { maxYoungGenerationSizeMb: SERVER_LIMITS.maxYoungMegabytes, ...options.resourceLimits },
  });
}
