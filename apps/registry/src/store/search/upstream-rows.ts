import type { Digest } from '@krmhub/schema';
import { text, type Work } from '../sql/statement.js';
import { ENTRY_FIELDS, encodeEntry } from './document-rows.js';
import { removeText, writeText } from './rows.js';
import { upstreamDocument, upstreamEntries } from './upstream-names.js';

/** Rows of functions that only upstream catalogs have, in the same database as the registry. */

/** Changes that searches can still read one by one; after more, they read everything again. */
export const MAX_REMEMBERED_CHANGES = 2_000;

interface UpstreamRow {
  id: number;
  kind: string;
  entry: Digest;
}

const selectRows = text<UpstreamRow>(
  'SELECT id, kind, entry FROM upstream_function WHERE group_name = :group AND kind_folded = :kindFolded ORDER BY id',
);
const remove = text('DELETE FROM upstream_function WHERE id = :id');
const put = text(
  `INSERT INTO upstream_function (id, group_name, kind, kind_folded, ${ENTRY_FIELDS.join(', ')}, entry)
   VALUES (:id, :group, :kind, :kindFolded, ${ENTRY_FIELDS.map((field) => `:${field}`).join(', ')}, :entry)`,
);
const lastId = text<{ id: number }>(
  `SELECT max(coalesce((SELECT max(id) FROM function), 0), coalesce((SELECT max(id) FROM upstream_function), 0)) AS id`,
);
const addChange = text<{ sequence: number }>(
  'INSERT INTO upstream_change (group_name, kind) VALUES (:group, :kind) RETURNING sequence',
);
const deleteChanges = text('DELETE FROM upstream_change WHERE sequence <= :sequence');

/**
 * Updates the rows of a name, one for each entry in newest snapshots. A function of this registry has none. Adds at most
 * some rows, the displayed one first, and returns how many; if it adds them all, there may be more.
 */
export function* refresh(group: string, kind: string, atMost = Number.POSITIVE_INFINITY): Work<number> {
  const kindFolded = kind.toLowerCase();
  const rows = yield* selectRows.all({ group, kindFolded });
  const entries = yield* upstreamEntries(group, kindFolded);
  for (const row of rows) if (!entries.includes(row.entry)) yield* removeRow(group, row);
  let added = 0;
  for (const entry of entries) {
    if (rows.some((row) => row.entry === entry)) continue;
    if (added === atMost) break;
    added += 1;
    const { document, words } = yield* upstreamDocument(entry);
    const id = yield* newId();
    yield* put.run({ ...encodeEntry(document), id, group, kind: document.kind, kindFolded, entry });
    yield* writeText(id, document, words, true);
    yield* recordChange(group, document.kind);
  }
  return added;
}

function* removeRow(group: string, { id, kind }: UpstreamRow): Work<void> {
  yield* removeText(id);
  yield* remove.run({ id });
  yield* recordChange(group, kind);
}

/** Removes the rows of a name that this registry takes over. */
export function* takeOver(group: string, kind: string): Work<void> {
  for (const row of yield* selectRows.all({ group, kindFolded: kind.toLowerCase() }))
    yield* removeRow(group, row);
}

/** Returns an unused id. */
export function* newId(): Work<number> {
  return (yield* lastId.first())!.id + 1;
}

/** Tells searches to read a name again. */
export function* recordChange(group: string, kind: string): Work<void> {
  const { sequence } = (yield* addChange.first({ group, kind }))!;
  yield* deleteChanges.run({ sequence: sequence - MAX_REMEMBERED_CHANGES });
}
