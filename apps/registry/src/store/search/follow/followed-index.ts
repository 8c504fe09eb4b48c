import { newNumber } from '../../sql/new-number.js';
import type { SearchIndex } from '../search-index.js';

/**
 * The index of a database that search does not read: followers find the changes in the event log and in the entry rows
 * of catalogs.
 */
export const followedIndex: SearchIndex = {
  follows: true,
  *put() {},
  *remove() {},
  *takeOver() {},
  // biome-ignore lint/correctness/useYield: no other index has ids.
  *newId() {
    return newNumber('function');
  },
  *takenDown() {},
  *snapshotCommitted() {},
};
