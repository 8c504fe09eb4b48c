import { workerData } from 'node:worker_threads';

/**
 * Kills its process when krmhub has ended, or when the process uses too much memory: V8 limits only the heap. A thread,
 * because the script keeps the main thread busy.
 */
export interface Watched {
  /** Process id of krmhub. */
  parent: number;
  /** Memory of the process. */
  maxBytes: number;
}

const MILLISECONDS = 100;

const { parent, maxBytes } = workerData as Watched;
setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() > maxBytes) process.kill(process.pid, 'SIGKILL');
}, MILLISECONDS);
