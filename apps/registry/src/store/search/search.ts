/**
 * Search over functions: full text, filters, facet counts, and the order of results.
 *
 * A function has one row and one full-text document, made from its displayed release: the newest that is not yanked. An
 * upstream function has one for each different entry in catalogs, and a search finds at most one of them.
 *
 * SQLite's full-text index finds words: kind first, then tags, description, group, and publisher, then fields of
 * functionConfigs and READMEs, from whose words a release has a bounded list. Filters, facet
 * counts, and order run over arrays in memory that hold, for each function, the number of its set of values
 * (facet-column.ts), so a search over everything is one loop. The event log and the serials of catalogs say which
 * functions to read again, so a search sees every committed write. The first page without a query is cached until the
 * next change.
 *
 * @module
 */

import {
  formatSearch,
  namedThing,
  parseSearch,
  type SearchExpression,
  type SearchTerm,
  thingOf,
} from '@krmhub/api/search-syntax';
import type {
  AccessRules,
  NameFinder,
  SearchPage,
  SearchQuery,
  SearchReader,
  SearchResult,
  UpstreamOrigin,
} from '@krmhub/catalog';
import { imageRepository, nearFunctions, tagInNames } from '@krmhub/catalog';
import type { FunctionName, Replacement } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { describeFacet, FACET_NAMES, type FacetName, mapFacets } from '@krmhub/schema/facets';
import type { ReadableDatabase } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import { type Position, type Reading, readCursor, writeCursor } from './cursor.js';
import { DOCUMENT_FIELDS, type DocumentRow, decodeDocument, FINDABLE } from './document-rows.js';
import { type TextHits, TIER, textHits } from './hits.js';
import { type ResultOrder, resultOrder, tierScore } from './order.js';
import { searchColumns } from './read-columns.js';
import { REPLACEMENT } from './rows.js';
import { countFacet, type Filters, firstBy, scan } from './scan.js';
import { type SeenColumns, seenColumns } from './seen-columns.js';
import { spelling } from './spelling.js';
import { textQuery } from './text.js';
import { upstreamOrigins } from './upstream-origins.js';

const MAX_LIMIT = 100;
/** Number of cached first pages without a query, for each order and length. */
const MAX_REMEMBERED = 8;

interface ItemRow extends DocumentRow {
  group: string;
  kind: string;
  /** JSON. */
  replacement: string | null;
}

/** Searches full text with SQLite; filters, counts and orders in memory. */
export function searchRows(connection: ReadableDatabase): SearchReader & NameFinder {
  const { client, read } = connection;
  const allColumns = searchColumns(connection);
  const seen = seenColumns();
  const currentColumns = ({ trust, access }: Pick<SearchQuery, 'trust' | 'access'>) =>
    seen(allColumns(trust), access);
  const hits = textHits(connection);
  const { find: findText } = hits;
  const correct = spelling(connection, hits);
  const item = prepared(() =>
    client.prepare<[number], ItemRow>(
      `SELECT group_name AS "group", kind, ${DOCUMENT_FIELDS.join(', ')}, ${REPLACEMENT} AS replacement
     FROM ${FINDABLE} AS shown WHERE id = ?`,
    ),
  );
  const readOrigins = upstreamOrigins(connection);
  const originsSeenIn =
    ({ shows }: SeenColumns) =>
    (group: string, kind: string): UpstreamOrigin[] =>
      readOrigins(group, kind).filter(({ catalog }) => shows?.('catalog', catalog) ?? true);

  const countsOfAll = (columns: SeenColumns) => (facet: FacetName) => {
    const known = columns.counts.get(facet) ?? countFacet(columns, columns.order, facet);
    columns.counts.set(facet, known);
    return known;
  };

  /** A search reads its text several times. */
  let lastParsed = { text: '', expression: parseSearch('') };
  const parse = (text: string): SearchExpression => {
    if (lastParsed.text !== text) lastParsed = { text, expression: parseSearch(text) };
    return lastParsed.expression;
  };

  const readFilters = (query: SearchQuery, { filters }: SearchExpression, columns: SeenColumns) => {
    const read: Filters = {};
    for (const facet of FACET_NAMES) {
      const given = [...(query[facet] ?? []), ...(filters[facet] ?? [])];
      if (given.length === 0) continue;
      read[facet] = setsWith(columns, facet, given, describeFacet(facet).match);
    }
    return read;
  };

  /** Returns the ids of the functions that run an image whose name starts with the text, or that has a digest. */
  const running = (query: SearchQuery, term: SearchTerm | undefined, columns: SeenColumns): Uint32Array => {
    if (term === undefined) return new Uint32Array();
    const { reference, digest } = thingOf(term);
    const { images } = columns;
    if (digest !== undefined) {
      const named = new Set((query.named ?? []).map((name) => columns.idOf(name)));
      return select(columns, images.matching([digest], 'any'), (id) => named.has(id));
    }
    if (reference === undefined) return new Uint32Array();
    const repository = imageRepository(reference);
    const exact = select(columns, images.matching(repository === undefined ? [] : [repository], 'any'));
    return exact.length > 0
      ? exact
      : select(columns, images.startingWith(reference.replace(/^(?:oci|docker):\/\//, '')));
  };

  /**
   * Returns 1 for the id of each function that the excluded terms and values find; undefined without any. No facet
   * counts them, not even that of the value.
   */
  const excluded = (
    query: SearchQuery,
    { terms, without }: SearchExpression,
    columns: SeenColumns,
  ): Uint8Array | undefined => {
    const { unwanted } = split({ terms });
    const facets = FACET_NAMES.filter((facet) => without[facet] !== undefined);
    if (unwanted.length + facets.length === 0) return undefined;
    const left = new Uint8Array(columns.yanked.length);
    for (const facet of facets) {
      const fails = setsWith(columns, facet, without[facet]!, 'any');
      const { numbers } = columns.facets[facet];
      for (const id of columns.order) if (fails[numbers[id]!] === 1) left[id] = 1;
    }
    for (const term of unwanted) {
      const runs = running(query, term, columns);
      const words = runs.length > 0 ? undefined : textQuery([term]);
      for (const id of words === undefined ? runs : findText(words, columns.sees).ids) left[id] = 1;
    }
    return left;
  };

  /** An image reference or a digest finds what runs it. Otherwise, words that nothing has are corrected. */
  const page = (query: SearchQuery): SearchPage => {
    const { text = '', cursor } = query;
    hits.start();
    if (cursor !== undefined) {
      const { reading, position } = readCursor(query, cursor);
      return foundPage(query, reading, position);
    }
    const columns = currentColumns(query);
    const { wanted, unwanted } = split(parse(text));
    if (wanted.length === 1 && running(query, wanted[0], columns).length > 0)
      return foundPage(query, 'image');
    const found = foundPage(query, 'words');
    // A first page with results needs no second look at the words.
    if (found.total > 0 || wanted.length === 0) return found;
    const corrected = hasWords(wanted, columns) ? undefined : correct(wanted, columns);
    const right =
      corrected &&
      foundPage(query, {
        corrected: formatSearch({ ...parse(text), terms: [...corrected, ...unwanted] }),
      });
    if (right !== undefined && right.total > 0) return right;
    // What is in quotes, of the kind or a field, or a name is meant as it is.
    const isPlain = wanted.every(
      (term) => !term.isPhrase && term.within === undefined && !term.text.includes('/'),
    );
    const some = isPlain ? foundPage(query, 'some') : found;
    return some.total > 0 ? some : (right ?? found);
  };

  const hasWords = (terms: readonly SearchTerm[], { sees }: SeenColumns): boolean => {
    const words = textQuery(terms);
    return words === undefined || findText(words, sees).ids.length > 0;
  };

  const foundPage = (query: SearchQuery, reading: Reading, after?: Position): SearchPage => {
    const corrected = typeof reading === 'object' ? reading : undefined;
    const expression = parse(corrected?.corrected ?? query.text ?? '');
    const { wanted } = split(expression);
    const sought =
      reading === 'image' ? undefined : textQuery(wordsOf(expression, wanted), { some: reading === 'some' });
    if (wanted.length > 0 && reading !== 'image' && sought === undefined) {
      return { total: 0, items: [], facets: mapFacets(() => []) };
    }

    const columns = currentColumns(query);
    const everything = isUnfiltered(query) ? `${query.sort} ${query.limit}` : undefined;
    const known = everything === undefined ? undefined : columns.pages.get(everything);
    if (known !== undefined) return known;
    const text = sought && findText(sought, columns.sees, namedThing(expression).name);
    const rankedText = (query.sort ?? 'relevance') === 'relevance' ? text : undefined;
    const equal = reading === 'image' && (query.sort ?? 'relevance') === 'relevance';
    const order = resultOrder(query, columns, { text: rankedText, equal });
    const some = reading === 'image' ? running(query, wanted[0], columns) : text?.ids;
    const left = excluded(query, expression, columns);
    const candidates = left && (some ?? columns.order).filter((id) => left[id] !== 1);
    const { hits, facets } = scan(
      columns,
      candidates ?? some ?? columns.order,
      readFilters(query, expression, columns),
      some === undefined && left === undefined ? countsOfAll(columns) : undefined,
    );
    const limit = Math.max(1, Math.min(MAX_LIMIT, Math.trunc(query.limit)));
    const ids = readPage(hits, limit + 1, { columns, order, text: rankedText, after });
    const rows = ids.slice(0, limit).map((id) => item.get(id)!);
    const last = rows.at(-1);
    const more = ids.length > limit && last !== undefined;
    const found: SearchPage = {
      ...corrected,
      ...defined({ partial: reading === 'some' || undefined }),
      total: hits.length,
      items: rows.map((row) => foundFunction(row, columns.rules, originsSeenIn(columns))),
      facets,
      ...defined({
        next: more ? writeCursor(query, reading, positionOf(ids[limit - 1]!, last, order)) : undefined,
      }),
    };
    if (everything !== undefined && columns.pages.size < MAX_REMEMBERED) {
      columns.pages.set(everything, found);
    }
    return found;
  };

  return {
    search: (query) => read(() => page(query)),
    nearFunctions: ({ access, ...name }) =>
      read(() => {
        const near = nearFunctions(name, currentColumns(defined({ access })).names());
        return near.map(({ group, kind }) => ({ group, kind }));
      }),
  };
}

function split({ terms }: Pick<SearchExpression, 'terms'>): { wanted: SearchTerm[]; unwanted: SearchTerm[] } {
  return {
    wanted: terms.filter(({ isExcluded }) => !isExcluded),
    unwanted: terms.filter(({ isExcluded }) => isExcluded),
  };
}

/** Returns the terms to search for words: without the release of a named function. */
function wordsOf(expression: SearchExpression, wanted: readonly SearchTerm[]): readonly SearchTerm[] {
  const { name } = namedThing(expression);
  if (name?.release === undefined) return wanted;
  return wanted.map((term) => ({ ...term, text: `${name.group}/${name.kind}` }));
}

/** Returns 1 for each set of values of a facet that matches; a value that does not exist for the search is in none. */
function setsWith(
  { facets, shows }: SeenColumns,
  facet: FacetName,
  values: readonly string[],
  match: 'any' | 'all',
): Uint8Array {
  const shown = values.filter((value) => shows?.(facet, value) ?? true);
  return facets[facet].matching(shown, match);
}

function select(
  { order, images }: SeenColumns,
  sets: Uint8Array,
  isNamed: (id: number) => boolean = () => false,
): Uint32Array {
  const { numbers } = images;
  return order.filter((id) => sets[numbers[id]!] === 1 || isNamed(id));
}

function positionOf(id: number, { group, kind }: FunctionName, order: ResultOrder): Position {
  return { score: order.score(id), age: order.age(id), group, kind };
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
    columns: SeenColumns;
    order: ResultOrder;
    text: TextHits | undefined;
    after: Position | undefined;
  },
): number[] {
  const { columns, order, text, after } = wanted;
  const { rank, yanked } = columns;
  // The tiers of functions that the search does not have are not read either.
  if (hits.length === 0) return [];
  const first = (ids: Uint32Array): number[] => firstBy(ids, limit, order, rank);
  const candidates = () => (after === undefined ? hits : hits.filter(isAfter(after, columns, order)));
  if (text === undefined) return first(candidates());
  for (;;) {
    text.readTiers();
    const exact = text.exactTier();
    if (exact === TIER.readme) return first(candidates());
    // A position that is not exact yet would come before the functions of its own tier.
    if (after !== undefined && after.score >= tierScore(exact + 1)) continue;
    const ids = candidates().filter((id) => text.tier(id) <= exact && yanked[id] === 0);
    if (ids.length >= limit) return first(ids);
  }
}

function isAfter(
  position: Position,
  { rank, ranksUpTo }: SeenColumns,
  order: ResultOrder,
): (id: number) => boolean {
  const ranks = ranksUpTo(position.group, position.kind);
  return (id) => {
    const differs = order.score(id) - position.score || order.age(id) - position.age;
    return differs === 0 ? rank[id]! >= ranks : differs > 0;
  };
}

function foundFunction(
  row: ItemRow,
  rules: AccessRules,
  readOrigins: (group: string, kind: string) => UpstreamOrigin[],
): SearchResult {
  const { group, kind, release } = row;
  const { images, published, ...document } = decodeDocument(row);
  return {
    group,
    kind,
    ...document,
    ...defined({
      release: release ?? undefined,
      imageTag: release === null ? tagInNames(images) : undefined,
      publishedAt: published === '' ? undefined : published,
      replacement: row.replacement === null ? undefined : (JSON.parse(row.replacement) as Replacement),
      from: release === null ? readOrigins(group, kind) : undefined,
      owner: release === null ? undefined : rules.groupOwner(group),
    }),
  };
}
