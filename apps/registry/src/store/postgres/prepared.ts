import { createHash } from 'node:crypto';
import { defined } from '@krmhub/schema/defined';
import { fillPlaceholders } from 'drizzle-orm/sql/sql';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import type { QueryConfig } from 'pg';
import { NewNumber, nextNumber } from '../sql/new-number.js';
import type { Builder, Statement, StatementCall, Values } from '../sql/statement.js';
import { numbered } from './numbered.js';

/** A statement in PostgreSQL's dialect. */
interface Prepared {
  /** The server keeps the plan of a statement with a name, per connection. */
  name: string;
  text: string;
  rowMode: 'array' | undefined;
  /** Number of parameters. */
  size: number;
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

/** Changes of one statement of which the server keeps the plan, at most: it would keep one for each number of them. */
const MAX_KEPT = 16;

/** Returns what to send for a call, and how to read its rows. */
export function preparedCall({ statement, values }: StatementCall): {
  config: QueryConfig;
  rows: Prepared['rows'];
} {
  const { name, text, rowMode, params, rows } = findPrepared(statement);
  const config = { name, text, values: params(values), ...defined({ rowMode }) };
  return { config: config as QueryConfig, rows };
}

/** Returns one statement for changes, with the rows of the last one. */
export function combinedChanges(calls: readonly StatementCall[]): {
  config: QueryConfig;
  rows: Prepared['rows'];
} {
  const values: unknown[] = [];
  const texts = calls.map((call) => {
    const { text, size, params } = findPrepared(call.statement);
    const given = params(call.values);
    const places: string[] = [];
    for (let at = 0; at < size; at += 1) {
      const value = given[at];
      // All parts of a statement see the same rows, so they get the same number.
      if (value instanceof NewNumber) places.push(`((${nextNumber(value.table)}) + ${value.ahead})`);
      else places.push(`$${values.push(value)}`);
    }
    return text.replace(/'(?:[^']|'')*'|"[^"]*"|\$(\d+)/g, (found, number?: string) =>
      number === undefined ? found : places[Number(number) - 1]!,
    );
  });
  const last = texts.pop()!;
  const before = texts.map((one, at) => `"change${at}" AS (${one})`).join(', ');
  const text = before === '' ? last : `WITH ${before} ${last}`;
  const { rowMode, rows } = findPrepared(calls.at(-1)!.statement);
  const name = calls.length <= MAX_KEPT ? { name: statementName(text) } : {};
  return {
    config: { ...name, text, values, ...defined({ rowMode }) } as QueryConfig,
    rows,
  };
}

function findPrepared(statement: Statement): Prepared {
  let found = statements.get(statement);
  if (found === undefined) {
    found = prepare(statement);
    statements.set(statement, found);
  }
  return found;
}

function prepare({ source }: Statement): Prepared {
  if (typeof source === 'function') {
    const prepared = source(builder).prepare() as unknown as RemoteQuery;
    const { sql, params } = prepared.getQuery();
    // Drizzle names the table of the columns here, which only SQLite reads.
    const text = numbered(sql.replace(/(?<=on conflict \([^)]*)"\w+"\.(?=")/g, ''));
    return {
      name: statementName(text),
      text,
      rowMode: 'array',
      size: params.length,
      params: (values) => fillPlaceholders(params, values),
      rows: (rows) => prepared.mapAllResult(rows),
    };
  }
  const names: string[] = [];
  const text = numbered(typeof source === 'string' ? source : source.postgres, names);
  return {
    name: statementName(text),
    text,
    rowMode: undefined,
    size: names.length,
    params: (values) => names.map((name) => values[name]),
    rows: (rows) => rows,
  };
}

/** A statement that is made again has the same name. */
const statementName = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 20);
