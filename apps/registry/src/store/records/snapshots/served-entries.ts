import type { ServedEntry, SnapshotStore } from '@krmhub/catalog';
import type { EntryVersion } from '@krmhub/schema';
import { IN_NEWEST_SNAPSHOT } from '../../search/rows.js';
import type { ReadSql } from '../../sql/sql.js';
import { text } from '../../sql/statement.js';

/** SQL for each database. */
interface Both {
  sqlite: string;
  postgres: string;
}

/** SQL condition: the row `place` has an entry that comes, at least in part, from an upstream catalog. */
export const IS_UPSTREAM: Both = {
  sqlite: `(place.entry IS NOT NULL AND EXISTS (
  SELECT 1 FROM json_each(place.selection, '$.versions') AS version WHERE version.value ->> 'release' IS NULL))`,
  postgres: `(place.entry IS NOT NULL AND EXISTS (
  SELECT 1 FROM jsonb_array_elements(place.selection -> 'versions') AS version
  WHERE version.value ->> 'release' IS NULL))`,
};

const VERSIONS = `selection ->> 'versions'`;

/**
 * Of one function. The first catalog is displayed. `default` comes last: a catalog that someone composed takes
 * precedence.
 */
function ofFunction(columns: string): Both {
  const sql = (database: keyof Both) => `SELECT ${columns} FROM catalog_function AS place
  WHERE group_name = :group AND lower(kind) = :kindFolded AND ${IS_UPSTREAM[database]} AND ${IN_NEWEST_SNAPSHOT}
  ORDER BY place.catalog = 'default', place.catalog`;
  return { sqlite: sql('sqlite'), postgres: sql('postgres') };
}

/** SQL of the entries of an upstream function in the newest snapshots; the first is displayed. */
export const UPSTREAM_ENTRIES = ofFunction('entry');

interface ServedRow extends Omit<ServedEntry, 'versions'> {
  /** JSON. */
  versions: string;
}

const served = text<ServedRow>(
  ofFunction(
    `catalog, group_name AS "group", kind, ${VERSIONS} AS versions, entry,
       (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = place.catalog) AS serial`,
  ),
);
/** SQL of the catalogs and versions of an upstream function. */
export const UPSTREAM_VERSIONS = ofFunction(`catalog, ${VERSIONS} AS versions`);

export function servedEntries({ read }: ReadSql): SnapshotStore['servedEntries'] {
  return (group, kind) =>
    read(function* () {
      const rows = yield* served.all({ group, kindFolded: kind.toLowerCase() });
      return rows.map(({ versions, ...row }): ServedEntry => ({ ...row, versions: readVersions(versions) }));
    });
}

export function readVersions(json: string): EntryVersion[] {
  return JSON.parse(json) as EntryVersion[];
}
