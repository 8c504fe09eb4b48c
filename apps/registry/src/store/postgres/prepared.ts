import { createHash } from 'node:crypto';
import { fillPlaceholders } from 'drizzle-orm/sql/sql';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import type { QueryConfig } from 'pg';
import type { Builder, Statement, StatementCall, Values } from '../sql/statement.js';
import { numbered } from './numbered.js';

/** A statement in PostgreSQL's dialect. */
interface Prepared {
  /** The server keeps the plan of a statement with a name, per connection. */
  name: string;
  text: string;
  rowMode: 'array' | undefined;
  params(values: Values): unknown[];
  rows(rows: unknown[]): unknown[];
}

/** As drizzle's prepared query for remote databases. */
interface RemoteQuery {
  getQuery(): { sql: string; params: unknown[] };
  mapAllResult(rows: unknown[]): unknown[];
}

/** Makes queries; it never runs them. */
const builder = drizzle(() => Promise.reject(new Error('never called'))) as unknown as Builder;
const statements = new WeakMap<Statement, Prepared>();

/** Returns what to send for a call, and how to read its rows. */
export function preparedCall({ statement, values }: StatementCall): {
  config: QueryConfig;
  rows: Prepared['rows'];
} {
  let found = statements.get(statement);
  if (found === undefined) {
    found = prepare(statement);
    statements.set(statement, found);
  }
  const { name, text, rowMode, params, rows } = found;
  const config = { name, text, values: params(values), ...(rowMode && { rowMode }) };
  return { config: config as QueryConfig, rows };
}

function prepare({ source }: Statement): Prepared {
  if (typeof source === 'function') {
    const prepared = source(builder).prepare() as unknown as RemoteQuery;
    const { sql, params } = prepared.getQuery();
    // Drizzle names the table of the columns here, which only SQLite reads.
    const text = numbered(sql.replace(/(?<=on conflict \([^)]*)"\w+"\.(?=")/g, ''));
    return {
      name: nameOf(text),
      text,
      rowMode: 'array',
      params: (values) => fillPlaceholders(params, values),
      rows: (rows) => prepared.mapAllResult(rows),
    };
  }
  const names: string[] = [];
  const text = numbered(typeof source === 'string' ? source : source.postgres, names);
  return {
    name: nameOf(text),
    text,
    rowMode: undefined,
    params: (values) => names.map((name) => values[name]),
    rows: (rows) => rows,
  };
}

/** A statement that is made again has the same name. */
const nameOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 20);
