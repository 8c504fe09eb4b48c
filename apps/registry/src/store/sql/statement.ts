/**
 * Statements and work of transactions, independent of the database that runs them.
 *
 * The records are written once for SQLite and PostgreSQL. Where the databases differ, a statement has the SQL of both.
 *
 * @module
 */

import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';

/**
 * Work of one transaction, independent of the database: a generator that yields its statements one after the other, and
 * is continued with their rows. SQLite runs it at once, so that it blocks its thread as short as a plain function;
 * PostgreSQL waits for each row.
 */
export type Work<Result> = Generator<Step, Result, unknown>;

/** What work runs next: a statement, changes for which PostgreSQL gets one statement, or the last changes of a write. */
export type Step = StatementCall | readonly StatementCall[] | LastChanges;

/** Changes after which a write needs nothing more of PostgreSQL. */
export interface LastChanges {
  readonly last: readonly StatementCall[];
}

/** Values of the placeholders of a statement by name. */
export type Values = Readonly<Record<string, unknown>>;

/** A statement to run now. */
export interface StatementCall {
  readonly statement: Statement;
  readonly method: 'all' | 'first' | 'run';
  readonly values: Values;
}

/** Why `readOne` rejects work. */
export const MORE_THAN_ONE = 'the work has more than one statement';

/**
 * Makes queries for both databases: drizzle in SQLite's dialect, which PostgreSQL understands as far as the store uses
 * it.
 */
export type Builder = Pick<
  BetterSQLite3Database,
  'select' | 'selectDistinct' | 'insert' | 'update' | 'delete'
>;

/** A query of drizzle. */
export interface Query<Row> {
  prepare(): { all(values?: Values): Row[] };
}

/** What a statement is: a query of drizzle, or SQL with placeholders such as `:name`, for each database or for both. */
export type Source<Row> =
  | ((db: Builder) => Query<Row>)
  | string
  | { readonly sqlite: string; readonly postgres: string };

/**
 * A statement whose methods are work. Each connection prepares it at its first use: a store has some 200 of them, of
 * which most connections use few. Make it once, not in every call.
 */
export class Statement<Row = unknown> {
  readonly source: Source<Row>;

  constructor(source: Source<Row>) {
    this.source = source;
  }

  /** Returns all rows. */
  *all(values: Values = {}): Work<Row[]> {
    return (yield this.#call('all', values)) as Row[];
  }

  /** Returns the first row. */
  *first(values: Values = {}): Work<Row | undefined> {
    return (yield this.#call('first', values)) as Row | undefined;
  }

  /** Returns how many rows were changed. */
  *run(values: Values = {}): Work<number> {
    return (yield this.#call('run', values)) as number;
  }

  /** Returns a change for `together`. */
  later(values: Values = {}): StatementCall {
    return this.#call('run', values);
  }

  #call(method: StatementCall['method'], values: Values): StatementCall {
    return { statement: this as Statement, method, values };
  }
}

/**
 * Runs changes in one step, and returns what the last one returns. PostgreSQL runs them as one statement, so none may
 * read what another one changes, or change the same row; its foreign keys are checked afterwards. SQLite runs them in
 * their order.
 */
export function* together(calls: readonly StatementCall[]): Work<unknown> {
  return calls.length === 0 ? undefined : yield calls;
}

/** As `together`, for the last changes of a write: PostgreSQL commits with them. Work that yields more there fails. */
export function* lastly(calls: readonly StatementCall[]): Work<unknown> {
  return yield { last: calls };
}

/** A change by drizzle that returns no rows. */
export function change(build: (db: Builder) => { prepare(): unknown }): Statement<never> {
  return new Statement(build as (db: Builder) => Query<never>);
}

/** A query of drizzle, with `sql.placeholder` for values. */
export function query<Row>(build: (db: Builder) => Query<Row>): Statement<Row> {
  return new Statement(build);
}

/** SQL with placeholders such as `:name`. Its rows are as the database has them. */
export function text<Row>(source: Exclude<Source<Row>, (db: Builder) => Query<Row>>): Statement<Row> {
  return new Statement<Row>(source);
}

/**
 * SQL that reads from a list in its order: the placeholder is a JSON list. The list is `wanted` with a `value` and a
 * `position`; `join` is an inner join with a table. One statement for many rows: each takes a round trip to PostgreSQL.
 */
export function fromList(
  source: (list: string, join: string, dialect: 'sqlite' | 'postgres') => string,
  placeholder: string,
): { sqlite: string; postgres: string } {
  return {
    // SQLite takes a list for long: with JOIN, it would compare each row of the table with the whole list.
    sqlite: source(
      `(SELECT value, key AS position FROM json_each(${placeholder})) AS wanted`,
      'CROSS JOIN',
      'sqlite',
    ),
    postgres: source(
      `json_array_elements(${placeholder}::json) WITH ORDINALITY AS wanted (value, position)`,
      'JOIN',
      'postgres',
    ),
  };
}

/** SQL with a condition on a list: the placeholder is a JSON list of texts. */
export function inList(
  source: (list: string) => string,
  placeholder: string,
): { sqlite: string; postgres: string } {
  return {
    sqlite: source(`(SELECT value FROM json_each(${placeholder}))`),
    postgres: source(`(SELECT json_array_elements_text(${placeholder}::json))`),
  };
}
