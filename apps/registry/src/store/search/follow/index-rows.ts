import type { Digest } from '@krmhub/schema';
import { text, type Work } from '../../sql/statement.js';
import { DOCUMENT_FIELDS } from '../document-rows.js';
import { PLACE_ORDER, removeText, writeText } from '../rows.js';
import { MAX_REMEMBERED_CHANGES, recordChange } from '../upstream-rows.js';
import type { Step } from './next-step.js';
import { writeCatalogProgress, writeProgress } from './progress.js';
import type { FoldedName, IndexRow, Place, RecordedName, WordedRow } from './record-names.js';

/** Rows of the file of a search index. */

type Columns = keyof IndexRow;
type StoredRow = IndexRow & { id: number };
const COLUMNS: readonly Columns[] = ['kind', ...DOCUMENT_FIELDS, 'replacement', 'words', 'entry'];
/** Columns that decide what the full-text documents have. */
const TEXT: readonly Columns[] = ['kind', 'tags', 'description', 'publisher', 'release', 'words', 'entry'];

const selectRows = text<StoredRow>(
  `SELECT id, kind, ${DOCUMENT_FIELDS.join(', ')}, replacement, words, entry
   FROM indexed WHERE group_name = :group AND kind_folded = :kindFolded ORDER BY id`,
);
const selectEntries = text<{ entry: Digest }>(
  'SELECT entry FROM indexed WHERE group_name = :group AND kind_folded = :kindFolded AND entry IS NOT NULL',
);
const put = text(
  `INSERT OR REPLACE INTO indexed (id, group_name, kind_folded, kind, ${DOCUMENT_FIELDS.join(', ')},
     replacement, words, entry)
   VALUES (:id, :group, :kindFolded, :kind, ${DOCUMENT_FIELDS.map((field) => `:${field}`).join(', ')},
     :replacement, :words, :entry)`,
);
const remove = text('DELETE FROM indexed WHERE id = :id');
// The query of `newId` would read all rows of the views here if no function comes from an upstream catalog.
const unusedId = text<{ id: number }>('SELECT coalesce(max(id), 0) + 1 AS id FROM indexed');
const selectPlaces = text<Place>(
  `SELECT catalog, kind, entry, selection FROM catalog_function AS place
   WHERE group_name = :group AND lower(kind) = :kindFolded ${PLACE_ORDER}`,
);
const removePlaces = text(
  'DELETE FROM catalog_function WHERE group_name = :group AND lower(kind) = :kindFolded',
);
const addPlace = text(
  `INSERT INTO catalog_function (catalog, group_name, kind, entry, selection)
   VALUES (:catalog, :group, :kind, :entry, :selection)`,
);
const removeCatalogPlaces = text('DELETE FROM catalog_function WHERE catalog = :catalog');
const countRows = text<{ functions: number }>('SELECT count(*) AS functions FROM indexed');
const skipChanges = text(
  `INSERT INTO upstream_change (sequence, group_name, kind)
   SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'upstream_change'), 0) + ${MAX_REMEMBERED_CHANGES}, '', ''`,
);
const dropChanges = text(
  'DELETE FROM upstream_change WHERE sequence < (SELECT max(sequence) FROM upstream_change)',
);

/** Returns the entries of an upstream function that the index has. */
export function* indexedEntries(name: FoldedName): Work<Digest[]> {
  return (yield* selectEntries.all({ ...name })).map(({ entry }) => entry);
}

export function* countIndexed(): Work<number> {
  return (yield* countRows.first())!.functions;
}

/** Writes a step to the index, with its progress. */
export function* writeStep(step: Step, names: readonly RecordedName[]): Work<void> {
  for (const name of names) yield* writeName(name);
  if (step.progress !== undefined) yield* writeProgress(step.progress);
  for (const [name, progress] of step.catalogs ?? []) {
    if (progress === undefined) yield* removeCatalogPlaces.run({ catalog: name });
    yield* writeCatalogProgress(name, progress);
  }
  if (step.everything) yield* recordEverything();
}

/** Writes what the registry says of a name. Writes nothing if the index has it already. */
function* writeName({ rows: recorded, places, ...name }: RecordedName): Work<void> {
  const stored = yield* selectRows.all({ ...name });
  const pairs = recorded.map((row) => ({ row, before: stored.find((one) => one.entry === entryOf(row)) }));
  const removed = stored.filter((one) => !pairs.some(({ before }) => before === one));
  const changed = pairs.filter((pair): pair is Changed => !isSame(pair));
  const before = yield* selectPlaces.all({ ...name });
  const arePlaced = JSON.stringify(before) === JSON.stringify(places.map(ordered));
  if (!arePlaced) {
    yield* removePlaces.run({ ...name });
    for (const place of places) yield* addPlace.run({ ...place, group: name.group });
  }
  if (arePlaced && removed.length + changed.length === 0) return;
  const kinds = new Set([...stored.map(({ kind }) => kind), ...changed.map(({ row }) => row.row.kind)]);
  for (const kind of kinds) yield* recordChange(name.group, kind);
  for (const { id } of removed) {
    yield* removeText(id);
    yield* remove.run({ id });
  }
  for (const one of changed) yield* writeRow(name, one);
}

interface Changed {
  row: WordedRow;
  before: StoredRow | undefined;
}

function entryOf(row: WordedRow | Digest): Digest | null {
  return typeof row === 'string' ? row : row.row.entry;
}

function isSame({ row, before }: { row: WordedRow | Digest; before: StoredRow | undefined }): boolean {
  if (typeof row === 'string') return true;
  return before !== undefined && COLUMNS.every((column) => row.row[column] === before[column]);
}

function* writeRow(name: FoldedName, { row: { row, words }, before }: Changed): Work<void> {
  const id = before?.id ?? (yield* unusedId.first())!.id;
  yield* put.run({ ...row, ...name, id });
  if (before !== undefined && TEXT.every((column) => row[column] === before[column])) return;
  const document = { ...row, group: name.group, tags: JSON.parse(row.tags) as string[] };
  yield* writeText(id, document, words, before === undefined);
}

/** Tells searches to read all names again. */
function* recordEverything(): Work<void> {
  yield* skipChanges.run();
  yield* dropChanges.run();
}

function ordered({ catalog, kind, entry, selection }: Place): Place {
  return { catalog, kind, entry, selection };
}
