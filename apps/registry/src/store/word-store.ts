import type { ReleaseWords } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';

/** A release of an older version of krmhub, which stored no words. */
export interface WordlessRelease extends FunctionName {
  id: number;
  release: string;
  digest: Digest;
  readme: Digest | null;
}

/** Words of releases, by which search finds them. New ones are stored with their release. */
export interface WordStore {
  /** Returns so many releases without words after one, by their number. */
  releasesWithoutWords(page: { after: number; limit: number }): Promise<WordlessRelease[]>;
  /** Stores words, and updates search. Leaves out releases that were taken down since they were read. */
  putReleaseWords(words: readonly { of: WordlessRelease; words: ReleaseWords }[]): Promise<void>;
}
