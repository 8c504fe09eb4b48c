import type { Connection } from '../connection.js';
import { now } from '../run-now.js';
import { searchRowRemover, searchRowWriter } from './rows.js';
import type { SearchIndex } from './search-index.js';
import { upstreamRows } from './upstream-rows.js';

/** The index in tables of the same database. */
export function searchIndex(connection: Connection): SearchIndex {
  const write = searchRowWriter(connection);
  const remove = searchRowRemover(connection);
  const upstream = upstreamRows(connection);
  return {
    put: (id, document, isNew) => now(() => write(id, document, isNew)),
    remove: (id) => now(() => remove(id)),
    takeOver: (group, kind) => now(() => upstream.release(group, kind)),
    newId: () => now(() => upstream.newId()),
    refresh: (group, kind) => now(() => upstream.refresh(group, kind)),
  };
}
