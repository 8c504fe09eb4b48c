import { MessageChannel, type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads';
import { SERVER_LIMITS } from '../../limits.js';
import { builtEntry, type ThreadEntry } from './built-entry.js';

/** A thread that loads its modules and waits for its input on the other port of this one. */
interface Preloaded {
  worker: Worker;
  input: MessagePort;
}

const preloaded = new Map<ThreadEntry, Preloaded>();

/** Starts a thread of this package. */
export function startWorker(entry: ThreadEntry, options: WorkerOptions = {}): Worker {
  return usePreloaded(entry, options.workerData) ?? newWorker(entry, options);
}

/**
 * Starts a thread before its input is known, so that it loads its modules while this thread loads others. The next
 * `startWorker` of the entry takes it. Until then it does not keep the process running, and its failure is ignored.
 */
export function preloadWorker(entry: ThreadEntry): void {
  if (preloaded.has(entry)) return;
  const { port1: input, port2: port } = new MessageChannel();
  const worker = newWorker(entry, { workerData: port, transferList: [port] });
  worker.unref();
  worker.once('error', () => preloaded.delete(entry));
  preloaded.set(entry, { worker, input });
}

function usePreloaded(entry: ThreadEntry, workerData: unknown): Worker | undefined {
  const found = preloaded.get(entry);
  if (found === undefined) return undefined;
  preloaded.delete(entry);
  found.worker.ref();
  found.input.postMessage(workerData);
  found.input.close();
  return found.worker;
}

function newWorker(entry: ThreadEntry, options: WorkerOptions): Worker {
  return new Worker(builtEntry(entry), {
    name: entry,
    // Do not inherit options of the process, for example of a test runner.
    execArgv: [],
    ...options,
    // V8 uses all memory that it is allowed.
    resourceLimits: { maxYoungGenerationSizeMb: SERVER_LIMITS.maxYoungMegabytes, ...options.resourceLimits },
  });
}
