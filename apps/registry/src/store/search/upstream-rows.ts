import type { Digest } from '@krmhub/schema';
import { text, type Work } from '../sql/statement.js';
import { ENTRY_FIELDS, encodeEntry } from './document-rows.js';
import { removeText, writeText } from './rows.js';
import { upstreamDocument, upstreamEntry } from './upstream-names.js';

/** Rows of functions that only upstream catalogs have, in the same database as the registry. */

/** Changes that searches can still read one by one; after more, they read everything again. */
export const MAX_REMEMBERED_CHANGES = 2_000;

interface UpstreamRow {
  id: number;
  kind: string;
  entry: Digest;
}

const selectRow = text<UpstreamRow>(
  'SELECT id, kind, entry FROM upstream_function WHERE group_name = :group AND kind_folded = :kindFolded',
);
const remove = text('DELETE FROM upstream_function WHERE id = :id');
const put = text(
  `INSERT OR REPLACE INTO upstream_function (id, group_name, kind, kind_folded, ${ENTRY_FIELDS.join(', ')}, entry)
   VALUES (:id, :group, :kind, :kindFolded, ${ENTRY_FIELDS.map((field) => `:${field}`).join(', ')}, :entry)`,
);
const lastId = text<{ id: number }>(
  `SELECT max(coalesce((SELECT max(id) FROM function), 0), coalesce((SELECT max(id) FROM upstream_function), 0)) AS id`,
);
const addChange = text<{ sequence: number }>(
  'INSERT INTO upstream_change (group_name, kind) VALUES (:group, :kind) RETURNING sequence',
);
const deleteChanges = text('DELETE FROM upstream_change WHERE sequence <= :sequence');

/** Updates the row of a name from the newest snapshots. A function of this registry has no row. */
export function* refresh(group: string, kind: string): Work<void> {
  const kindFolded = kind.toLowerCase();
  const row = yield* selectRow.first({ group, kindFolded });
  const entry = yield* upstreamEntry(group, kindFolded);
  if (row?.entry === entry) return;
  if (row !== undefined) yield* recordChange(group, row.kind);
  if (entry === undefined) {
    yield* removeText(row!.id);
    yield* remove.run({ id: row!.id });
    return;
  }
  const { document, words } = yield* upstreamDocument(entry);
  const id = row?.id ?? (yield* newId());
  yield* put.run({ ...encodeEntry(document), id, group, kind: document.kind, kindFolded, entry });
  yield* writeText(id, document, words, row === undefined);
  if (row?.kind !== document.kind) yield* recordChange(group, document.kind);
}

/** Hands the name over to this registry. Returns the id of its full-text document; undefined without a row. */
export function* takeOver(group: string, kind: string): Work<number | undefined> {
  const row = yield* selectRow.first({ group, kindFolded: kind.toLowerCase() });
  if (row === undefined) return undefined;
  yield* recordChange(group, row.kind);
  yield* remove.run({ id: row.id });
  return row.id;
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
