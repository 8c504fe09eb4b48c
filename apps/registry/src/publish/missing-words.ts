import { setImmediate } from 'node:timers/promises';
import { type BlobBytes, type FunctionReader, releaseWords } from '@krmhub/catalog';
import { type Digest, type FunctionDefinition, KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { SettingStore } from '../store/setting-store.js';
import type { WordlessRelease, WordStore } from '../store/word-store.js';

export interface MissingWordsDeps {
  store: FunctionReader & SettingStore & WordStore;
  blobs: BlobBytes;
  log: Log;
  /** Includes the words in searches that follow the database. */
  searchSoon?: (() => void) | undefined;
}

/** Releases per transaction; other work runs between two, and takedowns need not wait. */
const BATCH = 20;
/** Value of the setting `release-words`, which tells searches that follow the database to read all functions again. */
const COMPLETE = 'complete';

/**
 * Stores the words of releases that an older version stored without them, for search. The work can stop at any point;
 * the next run, also after a restart, continues. Once all releases have words, a run only looks for others.
 */
export class MissingWords {
  readonly #deps: MissingWordsDeps;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(deps: MissingWordsDeps) {
    this.#deps = deps;
  }

  /** Runs until all releases have words, or until `stop`. */
  start(): void {
    this.#stopped = false;
    this.#running = this.run().catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'cannot read the words of older releases for search');
      if (this.#stopped) return;
      this.#timer = setTimeout(() => this.start(), SERVER_LIMITS.maxRetryMilliseconds);
      this.#timer.unref();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Returns the number of releases that it has read. Rejects if a store does not answer. */
  async run(): Promise<number> {
    const { store, log, searchSoon } = this.#deps;
    let read = 0;
    for (let after = 0; ; ) {
      const page = await store.releasesWithoutWords({ after, limit: BATCH });
      const words: Parameters<WordStore['putReleaseWords']>[0][number][] = [];
      for (const of of page) {
        if (this.#stopped) return read;
        words.push(...(await this.#wordsOf(of)));
        await setImmediate();
      }
      if (words.length > 0) await store.putReleaseWords(words);
      read += words.length;
      if (page.length < BATCH) break;
      after = page.at(-1)!.id;
    }
    if ((await store.setting('release-words')) !== COMPLETE)
      await store.changeSetting('release-words', undefined, COMPLETE);
    if (read > 0) {
      log.info({ releases: read }, 'search finds older releases by their READMEs and fields');
      searchSoon?.();
    }
    return read;
  }

  /** Returns nothing for a release that was taken down. */
  async #wordsOf(of: WordlessRelease): Promise<Parameters<WordStore['putReleaseWords']>[0]> {
    const [json] = await this.#deps.store.definitionsJson([of]);
    if (json === undefined) return [];
    const definition = JSON.parse(new TextDecoder().decode(json)) as FunctionDefinition;
    const readme = of.readme === null ? undefined : await this.#readme(of.readme, of);
    return [{ of, words: releaseWords(definition, readme) }];
  }

  /** A README that is missing or damaged has no words; `fsck` reports it. */
  async #readme(digest: Digest, { id: _, ...name }: WordlessRelease): Promise<Uint8Array | undefined> {
    try {
      return await this.#deps.blobs.get(digest);
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'internal') throw error;
      this.#deps.log.warn({ err: error, ...name }, 'cannot read a README for search');
      return undefined;
    }
  }
}
