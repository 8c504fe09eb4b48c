import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { parseSearch } from '@krmhub/api/search-syntax';
import type BetterSqlite3 from 'better-sqlite3';
import { searchText, sqlite } from './built.js';
import type { Corpus } from './corpus.js';

/** The search queries of typical users. */
export interface Query {
  text?: string;
  tag?: string;
  kind?: string;
  group?: string;
  runtime?: string;
}

export type QueryClass = 'text, rare' | 'text, common' | 'tag' | 'kind' | 'group' | 'combined';

/** Results per page, on both sides. */
export const PAGE = 20;

/** Many different queries of each class, so that a cache cannot serve them all. */
export function chooseQueries({
  rareWords,
  commonWords,
  tags,
  kinds,
  groups,
}: Corpus): Record<QueryClass, Query[]> {
  return {
    'text, rare': rareWords.map((text) => ({ text })),
    'text, common': commonWords.map((text) => ({ text })),
    tag: tags.map((tag) => ({ tag })),
    kind: kinds.map((kind) => ({ kind })),
    group: groups.map((group) => ({ group })),
    combined: commonWords.flatMap((text, at) => [
      { text, tag: tags[at % 10]! },
      { text, runtime: 'exec', group: groups[at % 10]! },
      { tag: tags[at % 10]!, kind: kinds[at % kinds.length]!, runtime: 'container' },
    ]),
  };
}

export function searchPath({ text, ...filters }: Query): string {
  const parameters = new URLSearchParams({
    ...(text === undefined ? {} : { q: text }),
    ...filters,
    limit: String(PAGE),
  });
  return `/api/v1/functions?${parameters}`;
}

export interface SqlSearch {
  /** Returns the first page of a query, as group and kind. */
  rows(query: Query): string[];
  close(): void;
}

/**
 * Finds the same rows with one prepared statement on a copy of the registry's own tables, in the order of a
 * search: no facets, no total, no HTTP, no JSON. The copy gets the indexes that a SQL user would create.
 */
export async function openSqlSearch(registryDatabase: string, scratch: string): Promise<SqlSearch> {
  const Database = await sqlite();
  const { textQuery } = await searchText();
  const file = path.join(scratch, 'bare-search.db');
  await copyFile(registryDatabase, file);
  const database = new Database(file);
  database.pragma('synchronous = OFF');
  database.exec(INDEXES);
  const statements = new Map<string, BetterSqlite3.Statement>();
  return {
    rows(query) {
      const sql = statementFor(query);
      const statement = statements.get(sql) ?? database.prepare(sql);
      statements.set(sql, statement);
      const { text, kind, ...filters } = query;
      const { begun: sought, anywhere } =
        (text === undefined ? undefined : textQuery(parseSearch(text).terms)) ?? {};
      const rows = statement.all({
        ...filters,
        ...(kind === undefined ? {} : { kind: kind.toLowerCase() }),
        ...(sought === undefined
          ? {}
          : {
              found: sought.found,
              kind1: sought.kinds[0]!,
              kind2: sought.kinds.at(-1)!,
              start: `{kind} : ${sought.start}`,
              ...columns('kind', 'kind', sought),
              ...columns('tags', 'kind tags', sought),
              whole: sought.whole,
              anywhere,
              butReadme: `{kind tags description group_name publisher fields} : (${anywhere})`,
            }),
      }) as { group_name: string; kind: string }[];
      return rows.map((row) => `${row.group_name}/${row.kind}`);
    },
    close: () => {
      database.close();
    },
  };
}

const INDEXES = `
  CREATE TABLE bare_facet (facet TEXT NOT NULL, value TEXT NOT NULL, function_id INTEGER NOT NULL,
    PRIMARY KEY (facet, value, function_id)) WITHOUT ROWID;
  INSERT OR IGNORE INTO bare_facet SELECT 'tag', one.value, f.id FROM function AS f, json_each(f.tags) AS one;
  INSERT OR IGNORE INTO bare_facet SELECT 'runtime', one.value, f.id FROM function AS f, json_each(f.runtimes) AS one;
  CREATE INDEX bare_listing ON function (yanked, group_name, kind);
  CREATE INDEX bare_kind ON function (kind_folded, yanked, group_name, kind);`;

const COLUMNS = `f.group_name, f.kind, f.description, f.publisher, f.release, f.versions, f.tags, f.runtimes,
  f.licenses, f.yanked, f.deprecated`;
const FILTERS = {
  tag: `f.id IN (SELECT function_id FROM bare_facet WHERE facet = 'tag' AND value = :tag)`,
  runtime: `f.id IN (SELECT function_id FROM bare_facet WHERE facet = 'runtime' AND value = :runtime)`,
  kind: 'f.kind_folded = :kind',
  group: 'f.group_name = :group',
};

function statementFor(query: Query): string {
  const filters = (Object.keys(FILTERS) as (keyof typeof FILTERS)[])
    .filter((name) => query[name] !== undefined)
    .map((name) => FILTERS[name]);
  const where = filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`;
  if (query.text === undefined) {
    return `SELECT ${COLUMNS} FROM function AS f ${where} ORDER BY f.yanked, f.group_name, f.kind LIMIT ${PAGE}`;
  }
  const matching = (table: string, name: string) =>
    `SELECT rowid AS id FROM ${table} WHERE ${table} MATCH :${name}`;
  const isIn = (name: string) => `f.id IN (${matching('function_text', name)})`;
  return `SELECT *, CASE WHEN tier <= 4 THEN length(kind) ELSE 0 END AS length FROM (SELECT ${COLUMNS},
      CASE WHEN f.kind_folded IN (:kind1, :kind2) THEN 0
        WHEN ${isIn('start')} THEN 2
        WHEN ${isIn('kindWhole')} THEN 3
        WHEN ${isIn('kindFound')} THEN 4
        WHEN ${isIn('tagsWhole')} THEN 5
        WHEN ${isIn('tagsFound')} THEN 6
        WHEN ${isIn('whole')} THEN 7
        WHEN ${isIn('found')} THEN 8
        WHEN f.id IN (${matching('function_text_whole', 'butReadme')}) THEN 9
        ELSE 10 END AS tier
    FROM (${matching('function_text', 'found')} UNION ${matching('function_text_whole', 'anywhere')}) AS hit
    CROSS JOIN function AS f ON f.id = hit.id ${where})
    ORDER BY yanked, tier, deprecated, length, group_name, kind LIMIT ${PAGE}`;
}

/** Returns the expressions of a query for some columns of the full-text index. */
function columns(name: string, list: string, { found, whole }: { found: string; whole: string }) {
  return { [`${name}Found`]: `{${list}} : (${found})`, [`${name}Whole`]: `{${list}} : (${whole})` };
}
