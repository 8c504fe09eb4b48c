import type { CatalogStore, FoundFunction, SearchPage, SearchQuery, UpstreamPlace } from '@krmhub/catalog';
import type { Connection } from './connection.js';
import { FACETS, type Facet, type SearchColumns, searchColumns } from './search-columns.js';
import { type Position, readCursor, writeCursor } from './search-cursor.js';
import { type TextHits, textHits } from './search-hits.js';
import { FINDABLE } from './search-rows.js';
import { type Filters, firstBy, scan } from './search-scan.js';
import { textQuery } from './search-text.js';
import { upstreamPlaces } from './served-entries.js';

const MAX_LIMIT = 100;

/**
 * A position in the results. What is wholly yanked comes last; then, where text is sought, what it was found in
 * and how well it fits, and what is not deprecated; then the name.
 */
const RANKED = ['number', 'number', 'number', 'number', 'string', 'string'] as const;
const LISTED = ['number', 'string', 'string'] as const;

interface ItemRow {
  group: string;
  kind: string;
  description: string;
  publisher: string;
  release: string | null;
  versions: string;
  tags: string;
  runtimes: string;
  licenses: string;
  yanked: number;
  deprecated: number;
  signatures: string;
}

/** Searches by full text in SQLite; filters, counts and orders in memory. */
export function searchRows(connection: Pick<Connection, 'client' | 'read'>): Pick<CatalogStore, 'search'> {
  const { client, read } = connection;
  const currentColumns = searchColumns(connection);
  const findText = textHits(connection);
  const spellings = client
    .prepare<[string], string>(`SELECT DISTINCT kind FROM ${FINDABLE} WHERE kind_folded = ?`)
    .pluck();
  const item = client.prepare<[number], ItemRow>(
    `SELECT group_name AS "group", kind, description, publisher, release, versions, tags, runtimes, licenses,
       yanked, deprecated, signatures FROM ${FINDABLE} WHERE id = ?`,
  );
  const placesOf = upstreamPlaces(connection);

  const filtersOf = (query: SearchQuery, columns: SearchColumns): Filters => {
    const filters: Filters = {};
    for (const facet of FACETS) {
      const given = query[facet] ?? [];
      if (given.length === 0) continue;
      const values = facet === 'kind' ? given.flatMap((kind) => spellings.all(kind.toLowerCase())) : given;
      filters[facet] = columns.facets[facet].matching(values, facet === 'tag' ? 'all' : 'any');
    }
    return filters;
  };

  const page = (query: SearchQuery): SearchPage => {
    const listed = (query.text ?? '').trim() === '';
    const sought = listed ? undefined : textQuery(query.text!);
    const after =
      query.cursor === undefined ? undefined : readCursor(query, query.cursor, listed ? LISTED : RANKED);
    if (!listed && sought === undefined) return { total: 0, items: [], facets: noFacets() };

    const columns = currentColumns();
    // A weight is never 0: the page before says whether weights decide, whatever was published since.
    const text = sought && findText(sought, after && after[2] !== 0);
    const { hits, facets } = scan(columns, text?.ids ?? columns.order, filtersOf(query, columns));
    const limit = Math.max(1, Math.min(MAX_LIMIT, Math.trunc(query.limit)));
    const ids = pageOf(hits, limit + 1, columns, text, after);
    const rows = ids.slice(0, limit).map((id) => item.get(id)!);
    const last = rows.at(-1);
    const more = ids.length > limit && last !== undefined;
    return {
      total: hits.length,
      items: rows.map((row) => foundFunction(row, placesOf)),
      facets,
      ...(more && { next: writeCursor(query, positionOf(last, ids[limit - 1]!, text)) }),
    };
  };

  return { search: (query) => read(() => page(query)) };
}

/** Ids of a page's functions in their order: the first ones, or those after a position. */
function pageOf(
  hits: Uint32Array,
  limit: number,
  columns: SearchColumns,
  text: TextHits | undefined,
  after: Position | undefined,
): number[] {
  const { rank, yanked, deprecated } = columns;
  const compare = (a: number, b: number): number =>
    yanked[a]! - yanked[b]! ||
    (text === undefined
      ? 0
      : text.tierOf(a) - text.tierOf(b) ||
        text.weightOf(a) - text.weightOf(b) ||
        deprecated[a]! - deprecated[b]!) ||
    rank[a]! - rank[b]!;
  const isAfter = after && afterPosition(columns, text, after);
  const candidates = isAfter ? hits.filter(isAfter) : hits;
  if (text !== undefined) {
    // Mostly enough is found in kinds, and what is found in tags need not be told apart.
    const inKind = candidates.filter((id) => text.tierOf(id) <= 2 && yanked[id] === 0);
    if (inKind.length >= limit) return firstBy(inKind, limit, compare);
    text.readTags();
  }
  return firstBy(candidates, limit, compare);
}

function afterPosition(
  { rank, yanked, deprecated, ranksUpTo }: SearchColumns,
  text: TextHits | undefined,
  position: Position,
): (id: number) => boolean {
  const keys = position.slice(0, -2) as number[];
  const ranks = ranksUpTo(...(position.slice(-2) as [string, string]));
  return (id) => {
    const differs =
      yanked[id]! - keys[0]! ||
      (text === undefined
        ? 0
        : text.tierOf(id) - keys[1]! || text.weightOf(id) - keys[2]! || deprecated[id]! - keys[3]!);
    return differs === 0 ? rank[id]! >= ranks : differs > 0;
  };
}

function positionOf({ group, kind, yanked, deprecated }: ItemRow, id: number, text?: TextHits): Position {
  if (text === undefined) return [yanked, group, kind];
  return [yanked, text.tierOf(id), text.weightOf(id), deprecated, group, kind];
}

function foundFunction(
  row: ItemRow,
  placesOf: (group: string, kind: string) => UpstreamPlace[],
): FoundFunction {
  const { group, kind, description, publisher, release } = row;
  const list = (text: string): string[] => JSON.parse(text);
  return {
    group,
    kind,
    description,
    publisher,
    ...(release === null ? {} : { release }),
    versions: list(row.versions),
    tags: list(row.tags),
    runtimes: list(row.runtimes),
    licenses: list(row.licenses),
    yanked: row.yanked === 1,
    deprecated: row.deprecated === 1,
    signatures: JSON.parse(row.signatures),
    ...(release === null ? { from: placesOf(group, kind) } : {}),
  };
}

function noFacets(): SearchPage['facets'] {
  return Object.fromEntries(
    FACETS.map((facet): [Facet, []] => [facet, []]),
  ) as unknown as SearchPage['facets'];
}
