/**
 * The search index of a process whose database is not SQLite: a file that follows the database.
 *
 * The file has nothing that the database does not have, and can be deleted at any time.
 *
 * The event log says which functions of the registry changed, and the serials of catalogs say which upstream functions
 * did. A step reads some of these names and writes what the registry says of them now, with the progress, in one
 * transaction. So the same step twice changes nothing, and a killed process continues where it was.
 *
 * A search first includes the changes that it can wait for: all events, and small changes of catalogs. A new file is
 * filled by `synchronizeSearch`; searches find what is there already.
 *
 * @module
 */

import { renameSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type {
  NameFinder,
  SearchAccess,
  SearchPage,
  SearchQuery,
  SearchReader,
  SearchStore,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import type { Log } from '../../../log.js';
import { KeyedMutex } from '../../../workers/locks/keyed-mutex.js';
import type { Sql } from '../../sql/sql.js';
import { lockFile, openReadConnection } from '../../sqlite/connection.js';
import { rewriteDatabase, WITHOUT_DELETED_TEXT } from '../../sqlite/erase.js';
import { isDamageReport } from '../../sqlite/errors.js';
import { searchRows } from '../search.js';
import type { SearchThreads } from '../search-threads.js';
import { checkIndexCopy, withPackedIndex } from './copied-index.js';
import type { IndexCopies, Indexed } from './index-copies.js';
import { deleteIndexFile, INDEX_VERSION, type IndexFile, openIndexFile } from './index-file.js';
import { countIndexed, indexedEntries, writeStep } from './index-rows.js';
import { isCurrent, NO_CHANGES, nextStep, STATE_LIMITS, type Step, sinceOf } from './next-step.js';
import { type Progress, placesOfCatalog, readProgress, writeProgress } from './progress.js';
import { type FoldedName, namesWithoutEntries, type RecordedName, recordedNames } from './record-names.js';
import { markSearched, type RecordState, recordState } from './record-state.js';

/** Steps of one search; the next search or `synchronizeSearch` continues. */
const MAX_QUICK_STEPS = 50;
/** Functions between two lines of the log. */
const LOGGED_FUNCTIONS = 10_000;

type FetchedCopies = Pick<IndexCopies, 'fetch'>;
type Searches = SearchReader & NameFinder;

export interface FollowerOptions {
  /** The database of the registry. */
  record: Sql;
  /** Path of the index; its folder exists. */
  file: string;
  log: Log;
  /** Searches in threads. Absent to search in this one. */
  startThreads?: (file: string) => SearchThreads;
}

export interface FollowerStatus {
  /** Whether a new index is being filled. */
  isBuilding: boolean;
  /** Number of functions in the index. */
  functions: number;
  /** Sequence of the last event in it; 0 for none. */
  event: number;
  /** Number of the last takedown of which it has no deleted words. */
  erased: number;
  /** Functions that were read again since the start. */
  read: number;
}

/** An open file and what searches it. */
interface Opened {
  index: IndexFile;
  rows: ReturnType<typeof searchRows>;
  searches: Searches;
  close(): Promise<void>;
}

export class SearchFollower implements SearchStore, NameFinder {
  readonly #options: FollowerOptions;
  readonly #lock: BetterSqlite3.Database;
  /** Steps run one after the other. */
  readonly #mutex = new KeyedMutex();
  #opened: Opened;
  /** What the last step knew of the registry. */
  #state: Pick<RecordState, 'isUnmarked' | 'takedowns'> = { isUnmarked: false, takedowns: 0 };
  /** Functions that were written since the index was begun, and of these the ones that were logged. */
  #filled = { functions: 0, logged: 0 };
  #catchingUp: Promise<void> = Promise.resolve();
  #nextCatchUp: Promise<void> | undefined;
  readonly #closing = new AbortController();
  /** Whether a new file has replaced a damaged one, and has nothing yet. */
  #isReplacement = false;
  /** Whether searches of this file have included all that they can wait for: it can be of long ago. */
  #hasCaughtUp = false;
  /** The file is not filled before a copy of it was looked for. */
  #restoring: Promise<void> = Promise.resolve();
  /** Functions that were read again since the start. */
  #read = 0;

  /** Opens the index, or creates it. Rejects with `unavailable` if another process uses the file. */
  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#lock = lockFile(options.file);
    // Of a process that ended meanwhile.
    deleteIndexFile(this.#copyFile);
    try {
      this.#opened = this.#open();
    } catch (error) {
      this.#lock.close();
      throw error;
    }
  }

  async search(query: SearchQuery): Promise<SearchPage> {
    return this.#searching(({ searches }) => searches.search(query));
  }

  async nearFunctions(name: FunctionName & { access?: SearchAccess }): Promise<FunctionName[]> {
    return this.#searching(({ searches }) => searches.nearFunctions(name));
  }

  /** Begins with a copy if the index is new. Without one, it is filled from the database. */
  restore(copies: FetchedCopies): Promise<void> {
    this.#restoring = this.#restore(copies);
    return this.#restoring;
  }

  /** Calls work with a copy of the file, as `withPackedIndex`. */
  packed<Result>(work: (copy: string, indexed: Indexed) => Promise<Result>): Promise<Result | undefined> {
    const { file } = this.#options;
    const copy = this.#copyFile;
    return withPackedIndex({ file, copy }, (indexed) => work(copy, indexed));
  }

  async synchronizeSearch(signal?: AbortSignal): Promise<boolean> {
    const { record } = this.#options;
    await this.#restoring;
    const isStopped = () => signal?.aborted === true || this.#closing.signal.aborted;
    await this.#alone(async () => {
      if (isStopped()) return;
      if (this.#opened.index.isReplaced()) await this.#rebuild('its file was removed or replaced');
    });
    do {
      await setImmediate();
      if (isStopped()) return false;
    } while (await this.#alone(() => this.#step(false)));
    await this.#alone(async () => {
      if (!isStopped()) await this.#eraseTakenDown();
    });
    if (this.#state.isUnmarked) await record.write(() => markSearched());
    return true;
  }

  async status(): Promise<FollowerStatus> {
    const { sql } = this.#opened.index;
    const read = this.#read;
    return sql.read(function* () {
      const { event, fill, words, erased } = yield* readProgress();
      const isBuilding = event === undefined || (fill !== undefined && words !== 'again');
      return { isBuilding, functions: yield* countIndexed(), event: event ?? 0, erased, read };
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#alone(() => this.#opened.close());
    this.#lock.close();
  }

  get #copyFile(): string {
    return `${this.#options.file}.copy`;
  }

  async #restore(copies: FetchedCopies): Promise<void> {
    const { file, log } = this.#options;
    if ((await this.#opened.index.sql.read(() => readProgress())).event !== undefined) return;
    const copy = this.#copyFile;
    try {
      await copies.fetch(copy, INDEX_VERSION);
      const functions = await this.#alone(() => this.#begin(copy));
      log.info({ file, functions }, 'the search index begins with a copy from the blob store');
    } catch (error) {
      const reason = (error as Error).message;
      log.info({ file, reason }, 'the search index is filled from the database: no copy of it can be used');
    } finally {
      deleteIndexFile(copy);
    }
  }

  async #begin(copy: string): Promise<number> {
    const { file, record } = this.#options;
    this.#closing.signal.throwIfAborted();
    const functions = await checkIndexCopy(copy, record);
    await this.#opened.close();
    deleteIndexFile(file);
    renameSync(copy, file);
    this.#opened = this.#open();
    this.#hasCaughtUp = false;
    return functions;
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#mutex.run('step', work);
  }

  #open(): Opened {
    const { file, log, startThreads } = this.#options;
    const index = openIndexFile(file, log);
    const reader = openReadConnection(file);
    const rows = searchRows(reader);
    const threads = startThreads?.(file);
    return {
      index,
      rows,
      searches: threads ?? rows,
      async close() {
        await threads?.close();
        reader.close();
        index.close();
      },
    };
  }

  /** Searches what is there, with the changes that a search can wait for. A damaged file is replaced. */
  async #searching<Result>(search: (opened: Opened) => Promise<Result>): Promise<Result> {
    await this.#catchUp();
    const opened = this.#opened;
    try {
      return await search(opened);
    } catch (error) {
      if (!isDamageReport(error)) throw error;
      await this.#alone(async () => {
        if (this.#opened === opened) await this.#replaceDamaged(error);
      });
      return search(this.#opened);
    }
  }

  /** Includes changes that were committed before the call. Calls that arrive together share the work. */
  #catchUp(): Promise<void> {
    this.#nextCatchUp ??= this.#catchingUp
      .catch(() => undefined)
      .then(() => {
        this.#nextCatchUp = undefined;
        this.#catchingUp = this.#quickSteps();
        return this.#catchingUp;
      });
    return this.#nextCatchUp;
  }

  async #quickSteps(): Promise<void> {
    for (let steps = 0; steps < MAX_QUICK_STEPS || !this.#hasCaughtUp; steps += 1) {
      if (await this.#alone(() => this.#step(true))) continue;
      this.#hasCaughtUp = true;
      return;
    }
  }

  /** Returns whether there may be more to do. */
  async #step(quick: boolean): Promise<boolean> {
    try {
      return await this.#follow(quick);
    } catch (error) {
      if (!isDamageReport(error) || !(await this.#isDamaged())) throw error;
      await this.#replaceDamaged(error);
      return true;
    }
  }

  async #follow(quick: boolean): Promise<boolean> {
    const { record } = this.#options;
    const { sql } = this.#opened.index;
    const { progress, state } = await this.#compare();
    // Most searches need no other statement.
    if (isCurrent(progress, state)) return false;
    const step = await record.readOne(() =>
      nextStep({ progress, state, quick, indexed: (...page) => sql.run(placesOfCatalog(...page)) }),
    );
    if (step === 'rebuild') {
      await this.#rebuild('it has followed another state of the registry');
      return true;
    }
    if (step === undefined) return false;
    const knownEntries = (name: FoldedName) => sql.run(indexedEntries(name));
    const write = async (some: Step, names: readonly RecordedName[]) => {
      // After a power cut, the registry could have other events with these numbers.
      await record.durable();
      await sql.write(() => writeStep(some, names));
    };
    let names = await record.readOne(() => namesWithoutEntries(step.names, knownEntries));
    for (let { names: left } = step; names === undefined; ) {
      const some = await record.read(() => recordedNames(left, knownEntries));
      left = some.left;
      if (left.length === 0) names = some.found;
      // A name is valid with some of its entries; the progress follows with the last ones.
      else await write({ names: [] }, some.found);
    }
    await write(step, names);
    this.#isReplacement = false;
    this.#read += step.names.length;
    if (quick && progress.fill === undefined && step.progress?.fill !== undefined) this.#fillSoon();
    if (!quick || progress.event === undefined)
      await this.#report(step, progress.event === undefined, progress.fill !== undefined);
    return !isCurrent(await sql.read(() => readProgress()), state);
  }

  /** Reads how far the index is, and what the registry has beyond that. */
  async #compare(): Promise<{ progress: Progress; state: RecordState }> {
    const progress = await this.#opened.index.sql.read(() => readProgress());
    const limits = progress.event === undefined ? NO_CHANGES : STATE_LIMITS;
    const state = await this.#options.record.readOne(() => recordState(sinceOf(progress), limits));
    this.#state = state;
    return { progress, state };
  }

  async #report({ names, progress }: Step, isNew: boolean, wasFilling: boolean): Promise<void> {
    const { file, log } = this.#options;
    if (isNew) {
      this.#filled = { functions: 0, logged: 0 };
      log.info({ file }, 'building the search index');
      return;
    }
    const filled = this.#filled;
    filled.functions += names.length;
    if (filled.functions - filled.logged >= LOGGED_FUNCTIONS) {
      filled.logged = filled.functions;
      log.info({ file, functions: (await this.status()).functions }, 'building the search index');
    }
    if (wasFilling && progress !== undefined && progress.fill === undefined) {
      log.info(
        { file, functions: (await this.status()).functions },
        'the search index has all functions of this registry',
      );
    }
  }

  /** Rewrites the file if it includes takedowns that it did not include before: until then, deleted words stay in it. */
  async #eraseTakenDown(): Promise<void> {
    const { file, log } = this.#options;
    const { sql } = this.#opened.index;
    if ((await sql.read(() => readProgress())).erased >= this.#state.takedowns) return;
    const { progress, state } = await this.#compare();
    if (!isCurrent(progress, state)) return;
    const { busy, failure } = await rewriteDatabase(file, WITHOUT_DELETED_TEXT);
    if (busy || failure !== undefined) {
      log.warn(
        { file, failure },
        'words of releases that were taken down may stay in the search index: the next sync erases them',
      );
      return;
    }
    await sql.write(() => writeProgress({ ...progress, erased: state.takedowns }));
  }

  async #isDamaged(): Promise<boolean> {
    try {
      return this.#opened.index.client.pragma('quick_check(1)', { simple: true }) !== 'ok';
    } catch {
      return true;
    }
  }

  /** Throws the error again if the next file is damaged too. */
  async #replaceDamaged(error: unknown): Promise<void> {
    if (this.#isReplacement) throw error;
    await this.#rebuild('it is damaged');
  }

  /** Replaces the file by an empty one, and begins to fill it. */
  async #rebuild(reason: string): Promise<void> {
    const { file, log } = this.#options;
    log.warn({ file }, `the search index is built again: ${reason}`);
    await this.#opened.close();
    deleteIndexFile(file);
    this.#isReplacement = true;
    this.#hasCaughtUp = false;
    this.#opened = this.#open();
    this.#fillSoon();
  }

  #fillSoon(): void {
    const { file, log } = this.#options;
    this.synchronizeSearch().catch((error: unknown) =>
      log.error({ err: error, file }, 'cannot build the search index'),
    );
  }
}
