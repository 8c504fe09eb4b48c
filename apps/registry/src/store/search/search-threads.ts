import { availableParallelism } from 'node:os';
import type { NameFinder, SearchPage, SearchQuery, SearchReader } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import { inThread } from '../../workers/isolation/in-thread.js';

export interface SearchThreadInput {
  file: string;
}

/** What each thread does. */
export interface SearchRole extends NameFinder {
  /** As text: copying the many objects of a page takes several times as long as writing and parsing it. */
  search(query: SearchQuery): Promise<string>;
}

export interface SearchThreads extends SearchReader, NameFinder {
  /** Starts them before the first search does. */
  start(): void;
  close(): Promise<void>;
}

/** Searches a database file in threads, so that a search does not delay other requests. */
export function searchThreads(file: string, log: Log): SearchThreads {
  const count = Math.min(SERVER_LIMITS.maxSearchThreads, Math.max(1, availableParallelism() - 1));
  const threads = Array.from({ length: count }, () =>
    inThread<SearchRole>('search-thread', { input: (): SearchThreadInput => ({ file }), log }),
  );
  const idle = () => threads.reduce((a, b) => (b.pending < a.pending ? b : a));
  return {
    search: async (query) => JSON.parse(await idle().call('search', query)) as SearchPage,
    nearFunctions: (name) => idle().call('nearFunctions', name),
    start() {
      for (const thread of threads) thread.start();
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
