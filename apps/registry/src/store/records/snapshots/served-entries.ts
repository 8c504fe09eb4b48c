import { setImmediate } from 'node:timers/promises';
import type { ServedEntry, ServedEntryReader } from '@krmhub/catalog';
import type { EntryVersion, FunctionDefinition, FunctionName } from '@krmhub/schema';
import { IN_NEWEST_SNAPSHOT, PLACE_ORDER } from '../../search/rows.js';
import type { ReadSql } from '../../sql/sql.js';
import { text, type Work } from '../../sql/statement.js';

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

/** Of one function. The first catalog is displayed. */
function ofFunction(columns: string): Both {
  const sql = (database: keyof Both) => `SELECT ${columns} FROM catalog_function AS place
  WHERE group_name = :group AND lower(kind) = :kindFolded AND ${IS_UPSTREAM[database]} AND ${IN_NEWEST_SNAPSHOT}
  ${PLACE_ORDER}`;
  return { sqlite: sql('sqlite'), postgres: sql('postgres') };
}

/** SQL of the entries of an upstream function in the newest snapshots. */
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

const selectEntry = text<{ json: string }>(
  `SELECT entry.json FROM catalog_function AS place JOIN entry ON entry.digest = place.entry
   WHERE place.catalog = :catalog AND place.group_name = :group AND place.kind = :kind
     AND place.from_serial <= :serial AND (place.to_serial IS NULL OR place.to_serial > :serial)`,
);
/** Entries that are read at a time: each has up to a megabyte, and other work runs between two reads. */
const ENTRIES_AT_A_TIME = 20;

export function servedEntryRows({ read }: ReadSql): ServedEntryReader {
  return {
    servedEntries: (group, kind) =>
      read(function* () {
        const rows = yield* served.all({ group, kindFolded: kind.toLowerCase() });
        return rows.map(
          ({ versions, ...row }): ServedEntry => ({ ...row, versions: readVersions(versions) }),
        );
      }),
    async descriptions(catalog, serial, names) {
      const found: (string | undefined)[] = [];
      while (found.length < names.length) {
        const some = names.slice(found.length, found.length + ENTRIES_AT_A_TIME);
        found.push(...(await read(() => describe({ catalog, serial }, some))));
        await setImmediate();
      }
      return found;
    },
  };
}

function* describe(
  snapshot: { catalog: string; serial: number },
  names: readonly FunctionName[],
): Work<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for (const { group, kind } of names) {
    const row = yield* selectEntry.first({ ...snapshot, group, kind });
    found.push(row && (JSON.parse(row.json) as FunctionDefinition).description);
  }
  return found;
}

export function readVersions(json: string): EntryVersion[] {
  return JSON.parse(json) as EntryVersion[];
}
