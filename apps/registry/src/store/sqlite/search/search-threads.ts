import { availableParallelism } from 'node:os';
import type { SearchPage, SearchStore } from '@krmhub/catalog';
import { startWorker } from '../../../isolation/start-worker.js';
import { Thread } from '../../../isolation/thread.js';
import { SERVER_LIMITS } from '../../../limits.js';
import type { Log } from '../../../log.js';

export interface SearchThreads extends Pick<SearchStore, 'search'> {
  close(): Promise<void>;
}

/** Searches a database file in threads, so that a search does not delay other requests. */
export function startSearchThreads(file: string, log: Log): SearchThreads {
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
  return {
    async search(query) {
      const idle = threads.reduce((a, b) => (b.pending < a.pending ? b : a));
      return (await idle.call('search', query)) as SearchPage;
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
