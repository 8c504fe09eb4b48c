import type { Writable } from 'node:stream';
import type pg from 'pg';
import { nextNumber, numberedTables, withNumbers } from '../sql/new-number.js';
import type { LastChanges, StatementCall, Step, Work } from '../sql/statement.js';
import { endsConnection, translatePostgresError } from './errors.js';
import { combinedChanges, preparedCall } from './prepared.js';

/** Changes of one statement, at most: planning them takes longer than a round trip. */
const MAX_CHANGES = 64;
/** Size of the values of changes of one statement: the driver copies them twice. */
const MAX_CHANGE_SIZE = 4_194_304;
/**
 * Called with the number of statements that the server was sent. BEGIN and COMMIT count. `failed` is whether the work
 * failed because the server cannot be used.
 */
export type CountStatements = (statements: number, failed?: boolean) => void;

/** Broken connections that are replaced before an operation fails. */
const MAX_REPLACED = 3;

/** A connection of the pool, for one transaction. */
export class Session {
  readonly #client: pg.PoolClient;
  readonly #count: CountStatements;
  #broken: Error | undefined;
  #released = false;

  private constructor(client: pg.PoolClient, count: CountStatements) {
    this.#client = client;
    this.#count = count;
  }

  /**
   * Returns a connection, and what `begin` returns on it. Connections that broke since they were used, as all do when
   * the server restarts, are replaced.
   */
  static async open<Result>(
    pool: pg.Pool,
    count: CountStatements,
    begin: (session: Session) => Promise<Result>,
  ): Promise<{ session: Session; begun: Result }> {
    for (let replaced = 0; ; replaced += 1) {
      const session = new Session(await connect(pool), count);
      try {
        return { session, begun: await begin(session) };
      } catch (error) {
        const again = session.isBroken && replaced < MAX_REPLACED;
        await session.rollBack();
        if (!again) throw error;
      }
    }
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  async query(config: string | pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      const result: unknown = await this.#client.query(config);
      this.#count(Array.isArray(result) ? result.length : 1);
      return result as pg.QueryResult;
    } catch (error) {
      this.#count(1);
      if (endsConnection(error)) this.#broken = error as Error;
      throw translatePostgresError(error);
    }
  }

  /** Sends what `send` sends with one write to the socket, and waits for all of it, also if one fails. */
  together(send: () => Promise<unknown>[]): Promise<PromiseSettledResult<unknown>[]> {
    const { stream } = (this.#client as unknown as Connected).connection;
    stream.cork();
    try {
      return Promise.allSettled(send());
    } finally {
      stream.uncork();
    }
  }

  /** Runs the next step of work. What takes one statement is sent at once. */
  async take(step: Step): Promise<unknown> {
    if ('method' in step) return this.#call(step.method, preparedCall(step));
    const calls = 'last' in step ? step.last : step;
    const [first, ...others] = [...combinable(calls)];
    if (first === undefined) return undefined;
    if (others.length === 0) return this.#change(first);
    let result: unknown;
    for (const some of combinable(await this.#numbered(calls))) result = await this.#change(some);
    return result;
  }

  #change(calls: readonly StatementCall[]): Promise<unknown> {
    const { method } = calls.at(-1)!;
    const isPlain = calls.length === 1 && numberedTables(calls).length === 0;
    return this.#call(method, isPlain ? preparedCall(calls[0]!) : combinedChanges(calls));
  }

  /** Each of several statements would see other rows, and so other next numbers. */
  async #numbered(calls: readonly StatementCall[]): Promise<readonly StatementCall[]> {
    const next = new Map<string, number>();
    for (const table of numberedTables(calls)) {
      const { rows } = await this.query(nextNumber(table));
      next.set(table, rows[0].next as number);
    }
    return next.size === 0 ? calls : withNumbers(calls, next);
  }

  async #call(
    method: StatementCall['method'],
    { config, rows }: ReturnType<typeof preparedCall>,
  ): Promise<unknown> {
    const result = await this.query(config);
    if (method === 'run') return result.rowCount ?? 0;
    const found = rows(result.rows);
    return method === 'all' ? found : found[0];
  }

  /** Continues work with what its next statement returned, and runs the others. */
  async run<Result>(work: Work<Result>, first?: { rows: unknown }): Promise<Result> {
    let step = first === undefined ? work.next() : work.next(first.rows);
    while (!step.done) {
      let rows: unknown;
      try {
        rows = await this.take(step.value);
      } catch (error) {
        step = work.throw(error);
        continue;
      }
      step = work.next(rows);
    }
    return step.value;
  }

  /** Ends the transaction, and gives the connection back. */
  async commit(text = 'COMMIT'): Promise<void> {
    const results: unknown = await this.query(text);
    this.committed((Array.isArray(results) ? results.at(-1) : results) as pg.QueryResult);
  }

  /** Gives the connection back after the answer to COMMIT. */
  committed({ command }: pg.QueryResult): void {
    this.release();
    // The server answers ROLLBACK if a statement failed and the work went on.
    if (command !== 'COMMIT') throw new Error('a statement of a committed transaction failed');
  }

  /** Gives the connection back, without what the transaction wrote. */
  async rollBack(): Promise<void> {
    if (this.#released) return;
    if (!this.isBroken) await this.query('ROLLBACK').catch(() => undefined);
    this.release();
  }

  /** Closes the connection, and so rolls back: statements that were sent after one that failed are in no known state. */
  discard(error: Error): void {
    this.#broken = error;
    this.release();
  }

  /** Gives a connection without a transaction back. */
  release(): void {
    this.#released = true;
    this.#client.release(this.#broken);
  }
}

/** The connection of a client, which its types lack. */
interface Connected {
  connection: { stream: Writable };
}

/** Reports whether the server gets one statement for changes. */
export function isOneStatement({ last }: LastChanges): boolean {
  return [...combinable(last)].length === 1;
}

/** Splits changes into those of one statement each. */
export function* combinable(calls: readonly StatementCall[]): Generator<readonly StatementCall[]> {
  let from = 0;
  let size = 0;
  for (const [at, call] of calls.entries()) {
    const added = valuesSize(call);
    if (at > from && (at - from === MAX_CHANGES || size + added > MAX_CHANGE_SIZE)) {
      yield calls.slice(from, at);
      [from, size] = [at, 0];
    }
    size += added;
  }
  if (from < calls.length) yield calls.slice(from);
}

/** About the bytes of the values; a number costs next to nothing. */
function valuesSize({ values }: StatementCall): number {
  let size = 0;
  for (const value of Object.values(values)) {
    if (typeof value === 'string') size += value.length;
    else if (value instanceof Uint8Array) size += value.byteLength;
  }
  return size;
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    // Throws at once if a file of the URL cannot be read.
    return await pool.connect();
  } catch (error) {
    throw translatePostgresError(error);
  }
}
