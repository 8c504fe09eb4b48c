import type { CatalogStore, FacetCount, SearchDocument, SearchPage, SearchQuery } from '@krmhub/catalog';
import type { Statement } from 'better-sqlite3';
import type { Connection } from './connection.js';
import { type Position, readCursor, writeCursor } from './search-cursor.js';
import { type TextQuery, textQuery } from './search-text.js';

type Facet = keyof SearchPage['facets'];
type Parameters = Record<string, string | number>;

const MAX_LIMIT = 100;
const MAX_FACET_VALUES = 20;

/** bm25 weights of the columns of function_text: kind, tags, description, group, publisher. */
const WEIGHTS = '10, 5, 2, 1, 1';

/** For each facet the SQL that is true of a function `f` which one of the values fits; every one, for tags. */
const FILTERS: Record<Facet, string> = {
  tag: `f.id IN (SELECT function_id FROM function_facet
    WHERE facet = 'tag' AND value IN (SELECT value FROM json_each(:tag))
    GROUP BY function_id HAVING count(*) = json_array_length(:tag))`,
  kind: 'f.kind_folded IN (SELECT value FROM json_each(:kind))',
  group: 'f.group_name IN (SELECT value FROM json_each(:group))',
  publisher: 'f.publisher IN (SELECT value FROM json_each(:publisher))',
  runtime: facetFilter('runtime'),
  license: facetFilter('license'),
  catalog: facetFilter('catalog'),
};
const FACETS = Object.keys(FILTERS) as Facet[];

/** Facets that are columns of a function; the others are rows of function_facet. */
const COLUMNS: Partial<Record<Facet, string>> = { kind: 'kind', group: 'group_name', publisher: 'publisher' };

/**
 * How results are ordered: what is wholly yanked comes last. A tier holds what all words are found in: the whole
 * kind, words of the kind, of kind and tags, or anything. Within it bm25 decides, rounded so that what is about
 * as good is ordered by what is not deprecated, then by name.
 */
const RANKED = {
  keys: ['f.yanked', 'found.tier', 'found.rank', 'f.deprecated', 'f.group_name', 'f.kind'],
  types: ['number', 'number', 'number', 'number', 'string', 'string'],
} as const;
const LISTED = {
  keys: ['f.yanked', 'f.group_name', 'f.kind'],
  types: ['number', 'string', 'string'],
} as const;

/** The functions that a query finds; `temp.found` holds them while it is answered. */
const FILL_BY_TEXT = `INSERT INTO temp.found (id, tier, rank)
  SELECT f.id,
    CASE WHEN f.kind_folded = :joined THEN 0
      WHEN f.id IN (SELECT rowid FROM function_text WHERE function_text MATCH :inKind) THEN 1
      WHEN f.id IN (SELECT rowid FROM function_text WHERE function_text MATCH :inTags) THEN 2
      ELSE 3 END,
    CAST(printf('%.1e', hit.score) AS REAL)
  FROM (SELECT rowid AS id, bm25(function_text, ${WEIGHTS}) AS score
    FROM function_text WHERE function_text MATCH :match) AS hit
  CROSS JOIN function AS f ON f.id = hit.id`;
const FILL_BY_FILTER = 'INSERT INTO temp.found (id, tier, rank) SELECT f.id, 0, 0 FROM function AS f';

const EMPTY_PAGE = { total: 0, items: [] };

interface ItemRow {
  group: string;
  kind: string;
  description: string;
  publisher: string;
  release: string;
  versions: string;
  tags: string;
  runtimes: string;
  licenses: string;
  yanked: number;
  deprecated: number;
}

export function searchRows({ client, read }: Connection): Pick<CatalogStore, 'search'> {
  client.exec('CREATE TEMP TABLE found (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, rank REAL NOT NULL)');
  const statements = new Map<string, Statement>();
  const prepare = (sql: string): Statement => {
    const statement = statements.get(sql) ?? client.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };

  const count = (facet: Facet, everything: boolean): FacetCount[] =>
    prepare(facetSql(facet, everything)).all() as FacetCount[];

  const facetsOf = (parameters: Parameters, text: TextQuery | undefined): SearchPage['facets'] => {
    const given = FACETS.filter((facet) => facet in parameters);
    const facets = Object.fromEntries(FACETS.map((facet) => [facet, []])) as unknown as SearchPage['facets'];
    const fill = (except?: Facet): boolean => {
      const filters = given.filter((facet) => facet !== except);
      if (text === undefined && filters.length === 0) return true;
      prepare('DELETE FROM temp.found').run();
      const where =
        filters.length > 0 ? ` WHERE ${filters.map((facet) => FILTERS[facet]).join(' AND ')}` : '';
      prepare((text ? FILL_BY_TEXT : FILL_BY_FILTER) + where).run(parameters);
      return false;
    };
    for (const facet of given) facets[facet] = count(facet, fill(facet));
    // Last, so that `temp.found` is what the page is read from.
    const everything = fill();
    for (const facet of FACETS) if (!given.includes(facet)) facets[facet] = count(facet, everything);
    return facets;
  };

  const page = (query: SearchQuery): SearchPage => {
    const listed = (query.text ?? '').trim() === '';
    const text = listed ? undefined : textQuery(query.text!);
    const order = listed ? LISTED : RANKED;
    const after = query.cursor === undefined ? undefined : readCursor(query, query.cursor, order.types);
    if (!listed && text === undefined) return { ...EMPTY_PAGE, facets: noFacets() };

    const parameters = { ...textParameters(text), ...filterParameters(query) };
    const facets = facetsOf(parameters, text);
    const everything = text === undefined && !FACETS.some((facet) => facet in parameters);
    const from = everything
      ? 'function AS f'
      : 'temp.found AS found CROSS JOIN function AS f ON f.id = found.id';
    const total = prepare(
      `SELECT count(*) AS total FROM ${everything ? 'function' : 'temp.found'}`,
    ).get() as {
      total: number;
    };
    const limit = Math.max(1, Math.min(MAX_LIMIT, Math.trunc(query.limit)));
    const rows = prepare(itemsSql(from, order.keys, after !== undefined)).all([
      ...(after ?? []),
      limit + 1,
    ]) as (ItemRow & Record<`key${number}`, string | number>)[];
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return {
      total: total.total,
      items: items.map(searchDocument),
      facets,
      ...(rows.length > limit && last && { next: writeCursor(query, positionOf(last, order.keys.length)) }),
    };
  };

  return { search: (query) => read(() => page(query)) };
}

function facetFilter(facet: Facet): string {
  return `f.id IN (SELECT function_id FROM function_facet
    WHERE facet = '${facet}' AND value IN (SELECT value FROM json_each(:${facet})))`;
}

/** Counts a facet over `temp.found`, or over everything, where its index is enough. */
function facetSql(facet: Facet, everything: boolean): string {
  const column = COLUMNS[facet];
  const ending = `GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${MAX_FACET_VALUES}`;
  if (column !== undefined) {
    const from = everything
      ? 'function AS f'
      : 'temp.found AS found CROSS JOIN function AS f ON f.id = found.id';
    return `SELECT f.${column} AS value, count(*) AS count FROM ${from} ${ending}`;
  }
  if (everything) {
    return `SELECT value, count(*) AS count FROM function_facet WHERE facet = '${facet}' ${ending}`;
  }
  return `SELECT value, count(*) AS count FROM temp.found AS found
    CROSS JOIN function_facet AS facet ON facet.function_id = found.id AND facet.facet = '${facet}' ${ending}`;
}

function itemsSql(from: string, keys: readonly string[], after: boolean): string {
  const where = after ? `WHERE (${keys.join(', ')}) > (${keys.map(() => '?').join(', ')})` : '';
  return `SELECT f.group_name AS "group", f.kind, f.description, f.publisher, f.release, f.versions, f.tags,
      f.runtimes, f.licenses, f.yanked, f.deprecated, ${keys.map((key, at) => `${key} AS key${at}`).join(', ')}
    FROM ${from} ${where} ORDER BY ${keys.join(', ')} LIMIT ?`;
}

function textParameters(text: TextQuery | undefined): Parameters {
  if (text === undefined) return {};
  const { match, joined } = text;
  return { match, joined, inKind: `{kind} : (${match})`, inTags: `{kind tags} : (${match})` };
}

function filterParameters(query: SearchQuery): Parameters {
  const given = FACETS.filter((facet) => (query[facet]?.length ?? 0) > 0);
  return Object.fromEntries(
    given.map((facet) => {
      const values = new Set(query[facet]!.map((value) => (facet === 'kind' ? value.toLowerCase() : value)));
      return [facet, JSON.stringify([...values])];
    }),
  );
}

function searchDocument(row: ItemRow): SearchDocument {
  const { group, kind, description, publisher, release } = row;
  const list = (text: string): string[] => JSON.parse(text);
  return {
    group,
    kind,
    description,
    publisher,
    release,
    versions: list(row.versions),
    tags: list(row.tags),
    runtimes: list(row.runtimes),
    licenses: list(row.licenses),
    yanked: row.yanked === 1,
    deprecated: row.deprecated === 1,
  };
}

function positionOf(row: Record<`key${number}`, string | number>, keys: number): Position {
  return Array.from({ length: keys }, (_, at) => row[`key${at}`]!);
}

function noFacets(): SearchPage['facets'] {
  return { tag: [], kind: [], group: [], publisher: [], runtime: [], license: [], catalog: [] };
}
