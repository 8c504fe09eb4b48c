import { removeText, writeText } from './rows.js';
import type { SearchIndex } from './search-index.js';
import { snapshotCommitted } from './synchronize.js';
import { newId, refresh, takeOver } from './upstream-rows.js';

/** The index in tables of the same SQLite database. */
export const sqliteIndex: SearchIndex = {
  follows: false,
  put: writeText,
  remove: removeText,
  takeOver,
  newId,
  refresh,
  snapshotCommitted,
};
