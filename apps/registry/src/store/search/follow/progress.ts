import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { text, type Work } from '../../sql/statement.js';
import type { FoldedName } from './record-names.js';

/** How far the file of a search index follows the registry. */

/** Before the name of every function. */
export const FIRST: FunctionName = { group: '', kind: '' };

export interface CatalogProgress {
  /** Last serial that the index includes. */
  serial: number;
  /** The catalog is deleted, but not all of its entries are removed. */
  deleted: boolean;
  /** Serial that the index will include once it has read all changed functions; `after` is the last that it has read. */
  target?: number;
  after?: FunctionName;
}

export interface Progress {
  /** Last event that the index includes; undefined in a new file. */
  event: number | undefined;
  /** What that event is: another registry, or an earlier state of it, has another event with the number. */
  mark: string;
  /** The last function that the first build has read; undefined once it has read all. */
  fill?: FunctionName;
  /** Whether functions were read before releases had their words, or after that, or are read again for them. */
  words: 'before' | 'after' | 'again';
  /** Number of the last takedown of which the file has no deleted words. */
  erased: number;
  catalogs: ReadonlyMap<string, CatalogProgress>;
}

interface ProgressRow {
  event: number;
  mark: string;
  group: string | null;
  kind: string | null;
  words: Progress['words'];
  erased: number;
}

interface CatalogRow {
  name: string;
  serial: number;
  deleted: 1 | null;
  target: number | null;
  group: string | null;
  kind: string | null;
}

const progressRow = text<ProgressRow>(
  'SELECT event, mark, fill_group AS "group", fill_kind AS kind, words, erased FROM progress',
);
const catalogRows = text<CatalogRow>(
  `SELECT name, serial, deleted, target, after_group AS "group", after_kind AS kind FROM catalog ORDER BY name`,
);
const forgetProgress = text('DELETE FROM progress');
const putProgress = text(
  `INSERT INTO progress (event, mark, fill_group, fill_kind, words, erased)
   VALUES (:event, :mark, :group, :kind, :words, :erased)`,
);
const putCatalog = text(
  `INSERT OR REPLACE INTO catalog (name, serial, deleted, target, after_group, after_kind)
   VALUES (:name, :serial, :deleted, :target, :group, :kind)`,
);
const removeCatalog = text('DELETE FROM catalog WHERE name = :name');
const placesAfter = text<FoldedName & FunctionName>(
  `SELECT group_name AS "group", kind, lower(kind) AS kindFolded FROM catalog_function
   WHERE catalog = :catalog AND (group_name, kind) > (:group, :kind) ORDER BY group_name, kind LIMIT :limit`,
);

export function* readProgress(): Work<Progress> {
  const row = yield* progressRow.first();
  const catalogs = new Map<string, CatalogProgress>();
  for (const { name, serial, deleted, target, group, kind } of yield* catalogRows.all()) {
    catalogs.set(name, {
      serial,
      deleted: deleted === 1,
      ...defined({
        target: target ?? undefined,
        after: group !== null && kind !== null ? { group, kind } : undefined,
      }),
    });
  }
  const fill =
    row === undefined || row.group === null || row.kind === null
      ? {}
      : { fill: { group: row.group, kind: row.kind } };
  return {
    event: row?.event,
    mark: row?.mark ?? '',
    ...fill,
    words: row?.words ?? 'before',
    erased: row?.erased ?? 0,
    catalogs,
  };
}

/** Writes the progress with the event and the first build. */
export function* writeProgress({ event, mark, fill, words, erased }: Progress): Work<void> {
  yield* forgetProgress.run();
  const cursor = { group: fill?.group ?? null, kind: fill?.kind ?? null };
  yield* putProgress.run({ event, mark, ...cursor, words, erased });
}

/** Writes the progress of a catalog, or removes it. */
export function* writeCatalogProgress(name: string, progress: CatalogProgress | undefined): Work<void> {
  if (progress === undefined) {
    yield* removeCatalog.run({ name });
    return;
  }
  const { serial, deleted, target = null, after } = progress;
  const cursor = { group: after?.group ?? null, kind: after?.kind ?? null };
  yield* putCatalog.run({ name, serial, deleted: deleted ? 1 : null, target, ...cursor });
}

/** Returns the functions of a catalog in the index after a name. */
export function placesOfCatalog(
  catalog: string,
  after: FunctionName,
  limit: number,
): Work<(FoldedName & FunctionName)[]> {
  return placesAfter.all({ catalog, ...after, limit });
}
