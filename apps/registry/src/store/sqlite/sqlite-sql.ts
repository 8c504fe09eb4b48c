import type BetterSqlite3 from 'better-sqlite3';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { nextNumber, numberedTables, withNumbers } from '../sql/new-number.js';
import type { Sql } from '../sql/sql.js';
import {
  MORE_THAN_ONE,
  type Statement,
  type StatementCall,
  type Step,
  type Values,
  type Work,
} from '../sql/statement.js';
import type { WriteOptions } from '../sql/write-queue.js';
import { attempt } from './errors.js';
import { prepared } from './prepared.js';

interface Prepared {
  all(values: Values): unknown[];
  get(values: Values): unknown;
  run(values: Values): { changes: number };
}

/** Runs work on a connection, without waiting between its statements. */
export interface SyncSql extends Sql {
  /** In a transaction that the caller has begun. */
  run<Result>(work: Work<Result>): Result;
}

interface PlainConnection {
  client: BetterSqlite3.Database;
  db: BetterSQLite3Database;
  read<Result>(work: () => Result): Promise<Result>;
  write<Result>(work: () => Result, options?: WriteOptions): Promise<Result>;
  durable(): Promise<void>;
}

/** Adds `sql` to a connection. */
export function withSql<Given extends PlainConnection>(connection: Given): Given & { sql: SyncSql } {
  return Object.assign(connection, { sql: sqliteSql(connection) });
}

function sqliteSql(connection: PlainConnection): SyncSql {
  const { client, db } = connection;
  const statements = new WeakMap<Statement, Prepared>();
  const findPrepared = (statement: Statement): Prepared => {
    let found = statements.get(statement);
    if (found === undefined) {
      found = prepare(statement);
      statements.set(statement, found);
    }
    return found;
  };
  const prepare = ({ source }: Statement): Prepared => {
    if (typeof source === 'function') return source(db).prepare() as unknown as Prepared;
    return rawStatement(client, typeof source === 'string' ? source : source.sqlite);
  };
  const call = ({ statement, method, values }: StatementCall): unknown => {
    const found = findPrepared(statement);
    if (method === 'all') return found.all(values);
    return method === 'first' ? found.get(values) : found.run(values).changes;
  };
  const nextNumbers = new Map<string, Prepared>();
  const findNext = (table: string): number => {
    let found = nextNumbers.get(table);
    if (found === undefined) {
      found = rawStatement(client, nextNumber(table));
      nextNumbers.set(table, found);
    }
    return (found.get({}) as { next: number }).next;
  };
  const change = (calls: readonly StatementCall[]): unknown => {
    const next = new Map(numberedTables(calls).map((table) => [table, findNext(table)]));
    return (next.size === 0 ? calls : withNumbers(calls, next)).map(call).at(-1);
  };
  const take = (step: Step): unknown => {
    if ('method' in step) return call(step);
    return change('last' in step ? step.last : step);
  };
  const run = <Result>(work: Work<Result>): Result => {
    let step = work.next();
    while (!step.done) {
      let rows: unknown;
      try {
        rows = take(step.value);
      } catch (error) {
        step = work.throw(error);
        continue;
      }
      step = work.next(rows);
    }
    return step.value;
  };
  const runOne = <Result>(work: Work<Result>): Result => {
    const step = work.next();
    if (step.done) return step.value;
    const end = work.next(take(step.value));
    if (!end.done) throw new Error(MORE_THAN_ONE);
    return end.value;
  };
  const versionOfOthers = prepared(() => client.prepare<[], number>('PRAGMA data_version').pluck());
  return {
    run,
    read: (work) => connection.read(() => run(work())),
    readOne: (work) => attempt(() => runOne(work())),
    write: (work, options) => connection.write(() => run(work()), options),
    durable: () => connection.durable(),
    versionOfOthers: () => attempt(() => versionOfOthers.get()),
  };
}

/** The driver wants no values at all for a statement without placeholders. */
function rawStatement(client: BetterSqlite3.Database, source: string): Prepared {
  const statement = client.prepare(source);
  const has = /:[a-z]/i.test(source);
  return {
    all: (values) => (has ? statement.all(values) : statement.all()),
    get: (values) => (has ? statement.get(values) : statement.get()),
    run: (values) => (has ? statement.run(values) : statement.run()),
  };
}
