import { text } from '../../../sql/statement.js';
import type { SearchIndex } from '../search-index.js';

const lastId = text<{ id: number | null }>('SELECT max(id) AS id FROM function');
const mark = text('UPDATE catalog SET searched_serial = :serial WHERE name = :catalog');

/**
 * The index of a database that search does not read: followers find the changes in the event log and in the entry rows
 * of catalogs.
 */
export const followedIndex: SearchIndex = {
  *put() {},
  *remove() {},
  // biome-ignore lint/correctness/useYield: no other index has the name.
  *takeOver() {
    return undefined;
  },
  *newId() {
    return Number((yield* lastId.first())?.id ?? 0) + 1;
  },
  *refresh() {},
  *snapshotCommitted({ catalog, serial }) {
    yield* mark.run({ catalog, serial });
  },
};
