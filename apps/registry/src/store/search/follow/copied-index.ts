/** Files of the whole search index, of which copies are made. */

import type { Sql } from '../../sql/sql.js';
import { rewriteDatabase } from '../../sqlite/erase.js';
import type { Indexed } from './index-copies.js';
import { deleteIndexFile, INDEX_VERSION, openIndexCopy } from './index-file.js';
import { countIndexed } from './index-rows.js';
import { followsRecord, STATE_LIMITS, sinceOf } from './next-step.js';
import { readProgress } from './progress.js';
import { recordState } from './record-state.js';

/** Events after a copy, beside its functions, that are read in less time than all functions. */
const MAX_EVENTS_BEHIND = 1_000;

/**
 * Calls work with a copy of an index in use, if it has the whole registry and no words of releases that were taken down.
 * The copy is deleted afterwards. A thread writes it, and others can write the index meanwhile.
 */
export async function withPackedIndex<Result>(
  { file, copy }: { file: string; copy: string },
  work: (indexed: Indexed) => Promise<Result>,
): Promise<Result | undefined> {
  try {
    const { failure } = await rewriteDatabase(file, [`VACUUM INTO '${copy.replaceAll("'", "''")}'`]);
    if (failure !== undefined) throw new Error(failure.message);
    const packed = openIndexCopy(copy);
    const { event, fill, erased } = packed.sql.run(readProgress());
    packed.close();
    if (event === undefined || fill !== undefined) return undefined;
    return await work({ version: INDEX_VERSION, event, takedowns: erased });
  } finally {
    deleteIndexFile(copy);
  }
}

/**
 * Returns the number of functions of a copy. Throws an Error with a reason if the registry has not been in its state, or
 * reading everything takes less time.
 */
export async function checkIndexCopy(copy: string, record: Sql): Promise<number> {
  const { sql, close } = openIndexCopy(copy);
  try {
    const progress = sql.run(readProgress());
    const functions = sql.run(countIndexed());
    const state = await record.readOne(() => recordState(sinceOf(progress), STATE_LIMITS));
    if (progress.event === undefined || !followsRecord(progress, state))
      throw new Error('it is of another state of the registry');
    if (progress.erased !== state.takedowns) throw new Error('a release was taken down after it');
    if (state.event - progress.event > MAX_EVENTS_BEHIND + functions) throw new Error('it is too old');
    return functions;
  } finally {
    close();
  }
}
