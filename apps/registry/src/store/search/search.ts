/**
 * Search over functions: full text, filters, facet counts, and the order of results.
 *
 * Each function has one row and one full-text document, made from its displayed release: the newest that is not yanked.
 *
 * SQLite's full-text index finds words: kind first, then tags, description, group, and publisher. Filters, facet
 * counts, and order run over arrays in memory that hold, for each function, the number of its set of values
 * (facet-column.ts), so a search over everything is one loop. The event log and the serials of catalogs say which
 * functions to read again, so a search sees every committed write. The first page without a query is cached until the
 * next change.
 *
 * @module
 */

import type {
  FacetCount,
  NameFinder,
  SearchPage,
  SearchQuery,
  SearchResult,
  SearchStore,
  UpstreamOrigin,
} from '@krmhub/catalog';
import { nearFunctions } from '@krmhub/catalog';
import type { Replacement } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { describeFacet, FACET_NAMES, type FacetName, mapFacets } from '@krmhub/schema/facets';
import type { Connection } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import type { SearchColumns } from './columns.js';
import { type Position, type Reading, readCursor, writeCursor } from './cursor.js';
import { DOCUMENT_FIELDS, type DocumentRow, decodeDocument, FINDABLE } from './document-rows.js';
import { type TextHits, TIER, textHits } from './hits.js';
import { countKeys, isRanked, type ResultOrder, resultOrder } from './order.js';
import { searchColumns } from './read-columns.js';
import { PUBLISHED_AT, REPLACEMENT } from './rows.js';
import { countFacet, type Filters, firstBy, scan } from './scan.js';
import { readSearchText } from './search-text.js';
import { spelling } from './spelling.js';
import { textQuery } from './text.js';
import { upstreamOrigins } from './upstream-origins.js';

const MAX_LIMIT = 100;
/** Number of cached first pages without a query, for each order and length. */
const MAX_REMEMBERED = 8;

interface ItemRow extends DocumentRow {
  group: string;
  kind: string;
  published: string | null;
  /** JSON. */
  replacement: string | null;
}

/** Searches full text with SQLite; filters, counts and orders in memory. */
export function searchRows(connection: Pick<Connection, 'client' | 'read'>): Pick<
  SearchStore,
  'search' | 'descriptions'
> &
  NameFinder & {
    /** Reads some of what only later searches may need. Resolves with whether everything is read. */
    readAhead(): Promise<boolean>;
  } {
  const { client, read } = connection;
  const currentColumns = searchColumns(connection);
  const findText = textHits(connection);
  const correct = spelling(connection, findText);
  const item = prepared(() =>
    client.prepare<[number], ItemRow>(
      `SELECT group_name AS "group", kind, ${DOCUMENT_FIELDS.join(', ')}, ${PUBLISHED_AT} AS published,
       ${REPLACEMENT} AS replacement
     FROM ${FINDABLE} AS shown WHERE id = ?`,
    ),
  );
  const description = prepared(() =>
    client
      .prepare<[string, string], string>(
        `SELECT description FROM ${FINDABLE} WHERE group_name = ? AND kind_folded = ?`,
      )
      .pluck(),
  );
  const readOrigins = upstreamOrigins(connection);

  /**
   * First pages without a query, and counts of a facet over all functions: many clients start there. Valid for one
   * state.
   */
  let cached = {
    state: 0,
    pages: new Map<string, SearchPage>(),
    facets: new Map<FacetName, FacetCount[]>(),
  };
  const countsOfAll = (columns: SearchColumns) => (facet: FacetName) => {
    const known = cached.facets.get(facet) ?? countFacet(columns, columns.order, facet);
    cached.facets.set(facet, known);
    return known;
  };

  const readFilters = (query: SearchQuery, columns: SearchColumns): Filters => {
    const filters: Filters = {};
    for (const facet of FACET_NAMES) {
      const given = query[facet] ?? [];
      if (given.length === 0) continue;
      const values = describeFacet(facet).ignoresCase
        ? given.flatMap((kind) => columns.spellings(kind))
        : given;
      filters[facet] = columns.facets[facet].matching(values, describeFacet(facet).match);
    }
    return filters;
  };

  /** Returns the ids of the functions that run the image that a text names. */
  const running = (text: string, columns: SearchColumns): Uint32Array => {
    const { repository } = readSearchText(text);
    if (repository === undefined) return new Uint32Array();
    const matching = columns.images.matching([repository], 'any');
    const { numbers } = columns.images;
    return columns.order.filter((id) => matching[numbers[id]!] === 1);
  };

  /** A pasted image reference finds what runs it. Otherwise, words that nothing has are corrected. */
  const page = (query: SearchQuery): SearchPage => {
    const { text = '', cursor } = query;
    if (cursor !== undefined) {
      const { reading, position } = readCursor(query, cursor, (reading) => countKeys(query, reading));
      return foundPage(query, reading, position);
    }
    if (text.trim() === '') return foundPage(query, 'words');
    if (running(text, currentColumns()).length > 0) return foundPage(query, 'image');
    const found = foundPage(query, 'words');
    // A first page with results needs no second look at the words.
    if (found.total > 0) return found;
    const { words } = readSearchText(text);
    const corrected = hasWords(words) ? undefined : correct(words);
    return corrected === undefined ? found : foundPage(query, { corrected });
  };

  const hasWords = (text: string): boolean => {
    const words = textQuery(text);
    return words === undefined || findText(words).ids.length > 0;
  };

  const foundPage = (query: SearchQuery, reading: Reading, after?: Position): SearchPage => {
    const given = (query.text ?? '').trim();
    const corrected = typeof reading === 'object' ? reading : undefined;
    const { words, name } = readSearchText(corrected?.corrected ?? given);
    const sought = given === '' || reading === 'image' ? undefined : textQuery(words);
    if (given !== '' && reading !== 'image' && sought === undefined) {
      return { total: 0, items: [], facets: mapFacets(() => []) };
    }

    const columns = currentColumns();
    const everything = isUnfiltered(query) ? `${query.sort} ${query.limit}` : undefined;
    if (cached.state !== columns.state)
      cached = { state: columns.state, pages: new Map(), facets: new Map() };
    const known = everything === undefined ? undefined : cached.pages.get(everything);
    if (known !== undefined) return known;
    const text = sought && findText(sought, name);
    const rankedText = isRanked(query, reading) ? text : undefined;
    const order = resultOrder(query, columns, rankedText);
    const some = reading === 'image' ? running(given, columns) : text?.ids;
    const { hits, facets } = scan(
      columns,
      some ?? columns.order,
      readFilters(query, columns),
      some === undefined ? countsOfAll(columns) : undefined,
    );
    const limit = Math.max(1, Math.min(MAX_LIMIT, Math.trunc(query.limit)));
    const ids = readPage(hits, limit + 1, { columns, order, text: rankedText, after });
    const rows = ids.slice(0, limit).map((id) => item.get(id)!);
    const last = rows.at(-1);
    const more = ids.length > limit && last !== undefined;
    const found: SearchPage = {
      ...corrected,
      total: hits.length,
      items: rows.map((row) => foundFunction(row, readOrigins)),
      facets,
      ...defined({
        next: more
          ? writeCursor(query, reading, [...order.keysOf(ids[limit - 1]!), last.group, last.kind])
          : undefined,
      }),
    };
    if (everything !== undefined && cached.pages.size < MAX_REMEMBERED) {
      cached.pages.set(everything, found);
    }
    return found;
  };

  return {
    search: (query) => read(() => page(query)),
    readAhead: () => read(() => currentColumns().published.readSome()),
    descriptions: (names) =>
      read(() => names.map(({ group, kind }) => description.get(group, kind.toLowerCase()))),
    nearFunctions: (name) =>
      read(() => nearFunctions(name, currentColumns().names()).map(({ group, kind }) => ({ group, kind }))),
  };
}

function isUnfiltered(query: SearchQuery): boolean {
  return (
    query.cursor === undefined &&
    (query.text ?? '').trim() === '' &&
    FACET_NAMES.every((facet) => (query[facet] ?? []).length === 0)
  );
}

/** Returns the ids of a page: the first ones, or those after a position. `text` is given if it ranks them. */
function readPage(
  hits: Uint32Array,
  limit: number,
  wanted: {
    columns: SearchColumns;
    order: ResultOrder;
    text: TextHits | undefined;
    after: Position | undefined;
  },
): number[] {
  const { columns, order, text, after } = wanted;
  const { rank, yanked } = columns;
  const compare = (a: number, b: number): number => order.compare(a, b) || rank[a]! - rank[b]!;
  const first = (ids: Uint32Array): number[] => firstBy(ids, limit, compare);
  const candidates = () => (after === undefined ? hits : hits.filter(isAfter(after, columns, order)));
  if (text === undefined) return first(candidates());
  for (;;) {
    text.readTiers();
    const exact = text.exactTier();
    if (exact === TIER.beginnings) return first(candidates());
    // A position that is not exact yet would come before the functions of its own tier.
    if (after !== undefined && (after[0] !== 0 || (after[1] as number) > exact)) continue;
    const ids = candidates().filter((id) => text.tier(id) <= exact && yanked[id] === 0);
    if (ids.length >= limit) return first(ids);
  }
}

function isAfter(
  position: Position,
  { rank, ranksUpTo }: SearchColumns,
  order: ResultOrder,
): (id: number) => boolean {
  const ranks = ranksUpTo(...(position.slice(-2) as [string, string]));
  return (id) => {
    const differs = order.compareTo(id, position);
    return differs === 0 ? rank[id]! >= ranks : differs > 0;
  };
}

function foundFunction(
  row: ItemRow,
  readOrigins: (group: string, kind: string) => UpstreamOrigin[],
): SearchResult {
  const { group, kind, release } = row;
  const { images: _, ...document } = decodeDocument(row);
  return {
    group,
    kind,
    ...document,
    ...defined({
      release: release ?? undefined,
      publishedAt: row.published ?? undefined,
      replacement: row.replacement === null ? undefined : (JSON.parse(row.replacement) as Replacement),
      from: release === null ? readOrigins(group, kind) : undefined,
    }),
  };
}
