import type { Log } from '../../log.js';
import { onlyProcess } from '../../processes/only-process.js';
import type { OpenedStore } from '../opened-store.js';
import { SearchFollower } from '../sqlite/search/follow/follower.js';
import { searchThreads } from '../sqlite/search/search-threads.js';
import { leaderCallRows } from './leader-calls.js';
import { Listener } from './listener.js';
import { migratePostgres } from './migrate.js';
import { holdDatabase } from './owner.js';
import { openPostgresStore } from './store.js';

/** Opens a database in PostgreSQL for the main thread, with the search index of this process. */
export async function openFollowedStore(
  url: string,
  { file, threads, log }: { file: string; threads: boolean; log: Log },
): Promise<OpenedStore> {
  const closing = new AbortController();
  const owner = await holdDatabase(url, log);
  try {
    await migratePostgres(url);
    const { store, sql, pool } = openPostgresStore(url);
    const follower = new SearchFollower({
      record: sql,
      file,
      log,
      ...(threads && { startThreads: (index) => searchThreads(index, log) }),
    });
    const searchSoon = background(() => follower.synchronizeSearch(closing.signal), log);
    searchSoon();
    return {
      processes: onlyProcess(),
      searchSoon,
      shared: {
        listen: (onNotice) => new Listener(url, { log, onNotice }),
        calls: leaderCallRows(pool),
      },
      store: {
        ...store,
        search: (query) => follower.search(query),
        nearFunctions: (name) => follower.nearFunctions(name),
        descriptions: (names) => follower.descriptions(names),
        synchronizeSearch: (signal) => follower.synchronizeSearch(signal),
        close: async () => {
          closing.abort();
          await follower.close();
          await store.close();
          await owner.release();
        },
      },
      startSearch: () => undefined,
    };
  } catch (error) {
    await owner.release();
    throw error;
  }
}

/** Returns a function that starts work, which runs again after it if it was called meanwhile. Failures are logged. */
function background(work: () => Promise<unknown>, log: Log): () => void {
  let due = false;
  let running = false;
  const run = async (): Promise<void> => {
    running = true;
    while (due) {
      due = false;
      await work().catch((error) => log.error({ err: error }, 'cannot update search'));
    }
    running = false;
  };
  return () => {
    due = true;
    if (!running) void run();
  };
}
