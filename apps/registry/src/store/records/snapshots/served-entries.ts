import type { ServedEntry, ServedEntryReader } from '@krmhub/catalog';
import type { EntryVersion, FunctionDefinition, FunctionName } from '@krmhub/schema';
import { IN_NEWEST_SNAPSHOT, PLACE_ORDER } from '../../search/rows.js';
import type { ReadSql } from '../../sql/sql.js';
import { fromList, text } from '../../sql/statement.js';
import { AT_SERIAL } from './entry-row.js';

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

const firstUpstreamPlace = ofFunction('catalog, from_serial');
/** SQL of the displayed row of an upstream function in the newest snapshots. */
export const FIRST_UPSTREAM_PLACE: Both = {
  sqlite: `${firstUpstreamPlace.sqlite} LIMIT 1`,
  postgres: `${firstUpstreamPlace.postgres} LIMIT 1`,
};

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

/** The beginning of the JSON text of an entry: `orderDefinition` writes the short fields before the API versions. */
const VERSIONS_FOLLOW = ',"versions":[';
const END_OF_BEGINNING: Both = {
  sqlite: `instr(entry.json, '${VERSIONS_FOLLOW}')`,
  postgres: `strpos(entry.json, '${VERSIONS_FOLLOW}')`,
};
/**
 * A quote in a text has a backslash before it, so that only the field matches. The databases do not read the JSON: an entry
 * has up to a megabyte, and PostgreSQL rejects a NUL anywhere in it.
 */
const selectBeginnings = text<FunctionName & { beginning: string }>(
  fromList(
    (list, join, dialect) => `SELECT place.group_name AS "group", place.kind,
       substr(entry.json, 1, ${END_OF_BEGINNING[dialect]} - 1) || '}' AS beginning
     FROM ${list} ${join} catalog_function AS place
       ON place.catalog = :catalog AND place.group_name = wanted.value ->> 0 AND place.kind = wanted.value ->> 1
     ${join} entry ON entry.digest = place.entry WHERE ${AT_SERIAL}`,
    ':names',
  ),
);
/** Without a catalog for a function of this registry. */
const selectServing = text<FunctionName & { catalog: string | null }>(
  fromList(
    (
      list,
      join,
    ) => `SELECT wanted.value ->> 0 AS "group", wanted.value ->> 1 AS kind, place.catalog AS catalog
     FROM ${list} ${join} catalog_function AS place
       ON place.group_name = wanted.value ->> 0 AND lower(place.kind) = wanted.value ->> 1
     WHERE place.entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}
     UNION SELECT wanted.value ->> 0, wanted.value ->> 1, NULL
     FROM ${list} ${join} function ON group_name = wanted.value ->> 0 AND kind_folded = wanted.value ->> 1
     ORDER BY 3`,
    ':names',
  ),
);

export function servedEntryRows({ read, readOne }: ReadSql): ServedEntryReader {
  return {
    servedEntries: (group, kind) =>
      read(function* () {
        const rows = yield* served.all({ group, kindFolded: kind.toLowerCase() });
        return rows.map(
          ({ versions, ...row }): ServedEntry => ({ ...row, versions: readVersions(versions) }),
        );
      }),
    servingCatalogs: (functions) =>
      readOne(function* () {
        if (functions.length === 0) return [];
        const names = functions.map(({ group, kind }) => ({ group, kind: kind.toLowerCase() }));
        const wanted = JSON.stringify(names.map(({ group, kind }) => [group, kind]));
        const found = new Map<string, string[] | undefined>();
        for (const { group, kind, catalog } of yield* selectServing.all({ names: wanted })) {
          const key = `${group}/${kind}`;
          const isOurs = catalog === null || (found.has(key) && found.get(key) === undefined);
          found.set(key, isOurs ? undefined : [...(found.get(key) ?? []), catalog]);
        }
        return names.map(({ group, kind }) => {
          const key = `${group}/${kind}`;
          return found.has(key) ? found.get(key) : [];
        });
      }),
    descriptions: (catalog, serial, functions) =>
      readOne(function* () {
        if (functions.length === 0) return [];
        const names = JSON.stringify(functions.map(({ group, kind }) => [group, kind]));
        const rows = yield* selectBeginnings.all({ catalog, serial, names });
        const found = new Map(rows.map((row) => [`${row.group}/${row.kind}`, describe(row.beginning)]));
        return functions.map(({ group, kind }) => found.get(`${group}/${kind}`));
      }),
  };
}

function describe(beginning: string): string | undefined {
  return (JSON.parse(beginning) as Pick<FunctionDefinition, 'description'>).description;
}

export function readVersions(json: string): EntryVersion[] {
  return JSON.parse(json) as EntryVersion[];
}
