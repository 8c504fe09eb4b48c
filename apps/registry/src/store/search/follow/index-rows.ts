import type { Digest } from '@krmhub/schema';
import { text, type Work } from '../../sql/statement.js';
import { DOCUMENT_FIELDS } from '../document-rows.js';
import { removeText, writeText } from '../rows.js';
import { MAX_REMEMBERED_CHANGES, recordChange } from '../upstream-rows.js';
import type { Step } from './next-step.js';
import { writeCatalogProgress, writeProgress } from './progress.js';
import {
  type FoldedName,
  type IndexRow,
  PLACE_ORDER,
  type Place,
  type RecordedName,
} from './record-names.js';

/** Rows of the file of a search index. */

type Columns = keyof IndexRow;
const COLUMNS: readonly Columns[] = ['kind', ...DOCUMENT_FIELDS, 'replacement', 'words', 'entry'];
/** Columns that decide what the full-text documents have. */
const TEXT: readonly Columns[] = ['kind', 'tags', 'description', 'publisher', 'release', 'words', 'entry'];

const selectRow = text<IndexRow & { id: number }>(
  `SELECT id, kind, ${DOCUMENT_FIELDS.join(', ')}, replacement, words, entry
   FROM indexed WHERE group_name = :group AND kind_folded = :kindFolded`,
);
const selectEntry = text<{ entry: Digest | null }>(
  'SELECT entry FROM indexed WHERE group_name = :group AND kind_folded = :kindFolded',
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

/** Returns the displayed entry of a name: null for a function of the registry, undefined for an unknown name. */
export function* indexedEntry(name: FoldedName): Work<Digest | null | undefined> {
  return (yield* selectEntry.first({ ...name }))?.entry;
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
function* writeName({ row: recorded, places, ...name }: RecordedName): Work<void> {
  const current = yield* selectRow.first({ ...name });
  const row = recorded === 'unchanged' ? current : recorded?.row;
  const isSame =
    row === undefined || current === undefined
      ? row === current
      : COLUMNS.every((column) => row[column] === current[column]);
  const before = yield* selectPlaces.all({ ...name });
  const arePlaced = JSON.stringify(before) === JSON.stringify(places.map(ordered));
  if (!arePlaced) {
    yield* removePlaces.run({ ...name });
    for (const place of places) yield* addPlace.run({ ...place, group: name.group });
  }
  if (isSame && arePlaced) return;
  const kinds = new Set([current?.kind, row?.kind]);
  for (const kind of kinds) if (kind !== undefined) yield* recordChange(name.group, kind);
  if (isSame) return;
  if (row === undefined) {
    yield* removeText(current!.id);
    yield* remove.run({ id: current!.id });
    return;
  }
  const id = current?.id ?? (yield* unusedId.first())!.id;
  yield* put.run({ ...row, ...name, id });
  if (current !== undefined && TEXT.every((column) => row[column] === current[column])) return;
  const document = { ...row, group: name.group, tags: JSON.parse(row.tags) as string[] };
  const words = typeof recorded === 'object' ? recorded.words : undefined;
  yield* writeText(id, document, words, current === undefined);
}

/** Tells searches to read all names again. */
function* recordEverything(): Work<void> {
  yield* skipChanges.run();
  yield* dropChanges.run();
}

function ordered({ catalog, kind, entry, selection }: Place): Place {
  return { catalog, kind, entry, selection };
}
