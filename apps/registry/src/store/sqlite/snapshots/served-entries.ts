import type { ServedEntry, SnapshotStore, UpstreamOrigin } from '@krmhub/catalog';
import type { Digest, EntryVersion } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { IN_NEWEST_SNAPSHOT } from '../search/rows.js';

/** SQL condition: the row `place` has an entry that comes, at least in part, from an upstream catalog. */
export const IS_UPSTREAM = `(place.entry IS NOT NULL AND EXISTS (
  SELECT 1 FROM json_each(place.selection, '$.versions') AS version WHERE version.value ->> 'release' IS NULL))`;

/** The first catalog is displayed. `default` comes last: a catalog that someone composed takes precedence. */
const IN_ORDER = `ORDER BY place.catalog = 'default', place.catalog`;

const OF_FUNCTION = `FROM catalog_function AS place
  WHERE group_name = ? AND lower(kind) = ? AND ${IS_UPSTREAM} AND ${IN_NEWEST_SNAPSHOT} ${IN_ORDER}`;

/** Returns the displayed entry of an upstream function. Call it in a transaction. */
export function displayedEntry({
  client,
}: Pick<Connection, 'client'>): (group: string, kindFolded: string) => Digest | undefined {
  const first = prepared(() =>
    client.prepare<[string, string], Digest>(`SELECT entry ${OF_FUNCTION} LIMIT 1`).pluck(),
  );
  return (group, kindFolded) => first.get(group, kindFolded);
}

/** Returns the catalogs and sources of an upstream function, each pair once. Call it in a transaction. */
export function upstreamEntryRows({
  client,
}: Pick<Connection, 'client'>): (group: string, kind: string) => UpstreamOrigin[] {
  const all = prepared(() =>
    client.prepare<[string, string], { catalog: string; versions: string }>(
      `SELECT catalog, selection ->> '$.versions' AS versions ${OF_FUNCTION}`,
    ),
  );
  return (group, kind) =>
    all.all(group, kind.toLowerCase()).flatMap(({ catalog, versions }) => {
      const upstream = readVersions(versions).filter(({ release }) => release === undefined);
      return [...new Set(upstream.map(({ source }) => source))].map((source) => ({ catalog, source }));
    });
}

export function servedEntries({
  client,
  read,
}: Pick<Connection, 'client' | 'read'>): SnapshotStore['servedEntries'] {
  interface Row {
    catalog: string;
    group: string;
    kind: string;
    serial: number;
    versions: string;
    entry: Digest;
  }
  const all = prepared(() =>
    client.prepare<[string, string], Row>(
      `SELECT catalog, group_name AS "group", kind, selection ->> '$.versions' AS versions, entry,
       (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = place.catalog) AS serial ${OF_FUNCTION}`,
    ),
  );
  return (wantedGroup, wantedKind) =>
    read(() =>
      all
        .all(wantedGroup, wantedKind.toLowerCase())
        .map(({ versions, ...row }): ServedEntry => ({ ...row, versions: readVersions(versions) })),
    );
}

function readVersions(json: string): EntryVersion[] {
  return JSON.parse(json) as EntryVersion[];
}
