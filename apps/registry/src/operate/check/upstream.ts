import { upstreamSearchDocument } from '@krmhub/catalog';
import type { Digest, FunctionDefinition, FunctionName } from '@krmhub/schema';
import { IS_UPSTREAM, UPSTREAM_ENTRIES } from '../../store/records/snapshots/served-entries.js';
import { encodeEntry } from '../../store/search/document-rows.js';
import { IN_NEWEST_SNAPSHOT } from '../../store/search/rows.js';
import { type Check, type CheckInput, damage, FROM_BACKUP, information } from './finding.js';

type Client = CheckInput['client'];

interface Row extends FunctionName {
  id: number;
  entry: Digest;
  [column: string]: string | number;
}

/** Rows per read. */
const PAGE = 500;

/** Checks that the search rows of upstream functions match the newest snapshots. */
export const checkUpstreamRows: Check = async function* ({ client, progress }) {
  const behind = staleCatalogs(client);
  for (const { catalog, newest } of behind) {
    yield information(
      `snapshot ${catalog} ${newest}`,
      'its upstream functions are not in the search index yet; the registry is adding them',
    );
  }
  const waiting = namesWaiting(client);
  const isOurs = client.prepare<[number, string, string], 1>(
    `SELECT 1 FROM function WHERE id = ? OR (group_name = ? AND kind_folded = ?)`,
  );
  const served = client
    .prepare<{ group: string; kindFolded: string }, Digest>(UPSTREAM_ENTRIES.sqlite)
    .pluck();
  const selectJson = client.prepare<[Digest], string>('SELECT json FROM entry WHERE digest = ?').pluck();
  const page = client.prepare<[number], Row>(
    `SELECT *, group_name AS "group" FROM upstream_function WHERE id > ? ORDER BY id LIMIT ${PAGE}`,
  );
  const findProblem = (row: Row): string | undefined => {
    const kindFolded = row.kind.toLowerCase();
    if (isOurs.get(row.id, row.group, kindFolded) !== undefined)
      return 'the search index contains it twice: as a function of this registry and as an upstream function';
    if (waiting.has(foldedName(row))) return undefined;
    const entries = served.all({ group: row.group, kindFolded });
    if (entries.length === 0)
      return 'the search index contains it, but the newest snapshots have no upstream entry for it';
    if (!entries.includes(row.entry))
      return `the search index has entry ${row.entry}, but the newest snapshots have ${[...new Set(entries)].join(', ')}`;
    const json = selectJson.get(row.entry);
    if (json === undefined) return `its entry ${row.entry} is missing`;
    const document = upstreamSearchDocument(JSON.parse(json) as FunctionDefinition);
    const expected = Object.entries({ kind: document.kind, ...encodeEntry(document) });
    const differing = expected.filter(([column, value]) => row[column] !== value).map(([column]) => column);
    return differing.length === 0
      ? undefined
      : `the search row differs from its entry in ${differing.join(', ')}`;
  };
  let checked = 0;
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)!.id)) {
    for (const row of rows) {
      const problem = findProblem(row);
      if (problem !== undefined) yield damage(`${row.group}/${row.kind}`, problem, FROM_BACKUP);
    }
    checked += rows.length;
    await progress(`${checked} search rows of upstream functions checked`);
  }
  for (const name of namesWithoutRows(client)) {
    if (waiting.has(foldedName(name))) continue;
    const message = 'a newest snapshot has an upstream entry for it, but the search index does not';
    yield damage(`${name.group}/${name.kind}`, message, FROM_BACKUP);
  }
};

const BEHIND = `SELECT * FROM (SELECT name AS catalog, searched_serial AS searched,
  (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name) AS newest FROM catalog) WHERE searched < newest`;

function staleCatalogs(client: Client): { catalog: string; newest: number }[] {
  return client.prepare<[], { catalog: string; newest: number }>(BEHIND).all();
}

/** Returns the names whose update in search is still pending. */
function namesWaiting(client: Client): Set<string> {
  const changed = client.prepare<[], FunctionName>(
    `SELECT DISTINCT group_name AS "group", kind FROM (${BEHIND}) AS behind JOIN catalog_function AS place
     ON place.catalog = behind.catalog AND from_serial > searched AND from_serial <= newest`,
  );
  return new Set(changed.all().map(foldedName));
}

function namesWithoutRows(client: Client): FunctionName[] {
  return client
    .prepare<[], FunctionName>(
      `SELECT DISTINCT place.group_name AS "group", place.kind FROM catalog_function AS place
       WHERE ${IN_NEWEST_SNAPSHOT} AND ${IS_UPSTREAM.sqlite}
         AND NOT EXISTS (SELECT 1 FROM function AS ours
           WHERE ours.group_name = place.group_name AND ours.kind_folded = lower(place.kind))
         AND NOT EXISTS (SELECT 1 FROM upstream_function AS row
           WHERE row.group_name = place.group_name AND row.kind_folded = lower(place.kind) AND row.entry = place.entry)`,
    )
    .all();
}

/** Returns a key that ignores case: the kind of a function may differ by case between catalogs. */
function foldedName({ group, kind }: FunctionName): string {
  return `${group}/${kind.toLowerCase()}`;
}
