import { availableParallelism } from 'node:os';
import type { FunctionStore, SearchPage, SearchStore } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import { startWorker } from '../../workers/isolation/start-worker.js';
import { Thread } from '../../workers/isolation/thread.js';

export interface SearchThreads extends Pick<SearchStore, 'search'>, Pick<FunctionStore, 'nearFunctions'> {
  /** Starts them before the first search does. */
  start(): void;
  close(): Promise<void>;
}

/** Searches a database file in threads, so that a search does not delay other requests. */
export function searchThreads(file: string, log: Log): SearchThreads {
  const count = Math.min(SERVER_LIMITS.maxSearchThreads, Math.max(1, availableParallelism() - 1));
  const threads = Array.from(
    { length: count },
    () =>
      new Thread({
        name: 'search-thread',
        start: () => startWorker('search-thread', { workerData: { file } }),
        log,
      }),
  );
  const idle = () => threads.reduce((a, b) => (b.pending < a.pending ? b : a));
  return {
    search: async (query) => JSON.parse((await idle().call('search', query)) as string) as SearchPage,
    nearFunctions: async (name) => (await idle().call('nearFunctions', name)) as FunctionName[],
    start() {
      for (const thread of threads) thread.start();
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
