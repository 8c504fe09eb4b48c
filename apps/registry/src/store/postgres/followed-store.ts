import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '@krmhub/schema/defined';
import type { Log } from '../../log.js';
import type { DatabaseWork } from '../../metrics.js';
import type { OpenedStore, OpenStoreOptions } from '../opened-store.js';
import { eventRows } from '../records/events/events.js';
import { copyKeeper } from '../search/follow/copy-keeper.js';
import { SearchFollower } from '../search/follow/follower.js';
import { IndexCopies } from '../search/follow/index-copies.js';
import { lastTakedownNumber } from '../search/follow/record-state.js';
import { searchThreads } from '../search/search-threads.js';
import { leaderCallRows } from './leader-calls.js';
import { Listener } from './listener.js';
import { migratePostgres } from './migrate.js';
import { postgresSql } from './postgres-sql.js';
import { ManyProcesses } from './processes/many-processes.js';
import { openPostgresStore } from './store.js';
import type { WritingProcess } from './write-locks.js';

/** Milliseconds after which an update of search that failed is tried again. */
const RETRY_MS = 5_000;
/**
 * Milliseconds after a change until search is updated in the background, so that one update includes a publish, its
 * snapshot, and what is published meanwhile. A search before that includes all changes itself.
 */
const UPDATE_MS = 500;

interface FollowedStoreOptions extends Omit<OpenStoreOptions, 'paths'> {
  /** The search index. */
  file: string;
}

/** Opens a database in PostgreSQL for the main thread, with the search index of this process. */
export async function openFollowedStore(
  url: string,
  { file, threads, sharedBlobs, log, metrics }: FollowedStoreOptions,
): Promise<OpenedStore> {
  const closing = new AbortController();
  await migratePostgres(url);
  let writingProcess: WritingProcess = () => undefined;
  const process = () => writingProcess();
  const countFor =
    (work: DatabaseWork) =>
    (statements: number, failed = false) => {
      metrics?.countStatements(work, statements);
      if (failed) metrics?.databaseFailed(work);
    };
  const { store, pool } = openPostgresStore(url, { process, count: countFor('requests') });
  const following = postgresSql(pool, process, countFor('following'));
  try {
    const processes = await ManyProcesses.join({ url, sql: postgresSql(pool), sharedBlobs, log });
    writingProcess = () => processes.id;
    const record = postgresSql(pool, process, countFor('search'));
    const follower = new SearchFollower({
      record,
      file,
      log,
      ...defined({ startThreads: threads ? (index: string) => searchThreads(index, log) : undefined }),
    });
    let hasAll = false;
    let copySoon: () => void = () => undefined;
    const update = async () => {
      if (!(await follower.synchronizeSearch(closing.signal))) return;
      hasAll = true;
      copySoon();
    };
    const searchSoon = background(update, log, UPDATE_MS);
    return {
      processes,
      searchSoon,
      startSearchIndex(pieces) {
        const lastTakedown = () => record.readOne(() => lastTakedownNumber());
        const copies =
          pieces &&
          new IndexCopies({ pieces, settings: store, bytesLock: processes.bytesLock, lastTakedown });
        if (copies !== undefined) {
          copySoon = background(copyKeeper({ follower, copies, leads: () => processes.leads, log }), log);
          void follower.restore(copies);
        }
        searchSoon();
        return copies;
      },
      searchProblem: async () => {
        // Also if the file was damaged, and is built again.
        const { isBuilding, functions } = await follower.status();
        return hasAll && !isBuilding
          ? undefined
          : `the search index of this process is being built: it has ${functions} functions so far`;
      },
      searchLag: async () => Math.max((await store.lastEvent()) - (await follower.status()).event, 0),
      shared: {
        listen: (onNotice) => new Listener(url, { log, onNotice }),
        calls: leaderCallRows(pool, countFor('following')),
        events: eventRows(following),
      },
      store: {
        ...store,
        search: (query) => follower.search(query),
        nearFunctions: (name) => follower.nearFunctions(name),
        synchronizeSearch: (signal) => follower.synchronizeSearch(signal),
        close: async () => {
          closing.abort();
          await follower.close();
          await processes.leave();
          await store.close();
        },
      },
      startSearch: () => undefined,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Returns a function that starts work, which runs again after it if it was called meanwhile. Each run but the first one
 * begins after some milliseconds. Failures are logged; the next call, or a time, starts it again.
 */
function background(work: () => Promise<unknown>, log: Log, milliseconds = 0): () => void {
  let due = false;
  let running = false;
  let isFirst = true;
  const run = async (): Promise<void> => {
    running = true;
    while (due) {
      if (!isFirst) await sleep(milliseconds, undefined, { ref: false });
      isFirst = false;
      due = false;
      await work().catch((error) => {
        log.error({ err: error }, 'cannot update search');
        setTimeout(start, RETRY_MS).unref();
      });
    }
    running = false;
  };
  const start = (): void => {
    due = true;
    if (!running) void run();
  };
  return start;
}
