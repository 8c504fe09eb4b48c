import type { ReleaseWords } from '@krmhub/catalog';
import { text } from '../sql/statement.js';
import { removeText, writeText } from './rows.js';
import type { SearchIndex } from './search-index.js';
import { snapshotCommitted, takenDown } from './synchronize.js';
import { newId, takeOver } from './upstream-rows.js';

const selectWords = text<ReleaseWords>(
  `SELECT release_words.fields, release_words.readme FROM release JOIN release_words ON release_words.release = release.id
   WHERE function_id = :id AND release.release = :release`,
);

/** The index in tables of the same SQLite database. */
export const sqliteIndex: SearchIndex = {
  follows: false,
  *put(id, document, isNew) {
    const words = yield* selectWords.first({ id, release: document.release });
    yield* writeText(id, document, words, isNew);
  },
  remove: removeText,
  takeOver,
  newId,
  takenDown,
  snapshotCommitted,
};
