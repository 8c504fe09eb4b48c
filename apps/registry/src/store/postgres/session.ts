import type pg from 'pg';
import type { StatementCall, Work } from '../sql/statement.js';
import { endsConnection, translatePostgresError } from './errors.js';
import { preparedCall } from './prepared.js';

/** Broken connections that are replaced before an operation fails. */
const MAX_REPLACED = 3;

/** A connection of the pool, for one transaction. */
export class Session {
  readonly #client: pg.PoolClient;
  #broken: Error | undefined;
  #released = false;

  private constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /**
   * Returns a connection, and what `begin` returns on it. Connections that broke since they were used, as all do when
   * the server restarts, are replaced.
   */
  static async open<Result>(
    pool: pg.Pool,
    begin: (session: Session) => Promise<Result>,
  ): Promise<{ session: Session; begun: Result }> {
    for (let replaced = 0; ; replaced += 1) {
      const session = new Session(await connect(pool));
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
      return await this.#client.query(config);
    } catch (error) {
      if (endsConnection(error)) this.#broken = error as Error;
      throw translatePostgresError(error);
    }
  }

  async call(call: StatementCall): Promise<unknown> {
    const { config, rows } = preparedCall(call);
    const result = await this.query(config);
    if (call.method === 'run') return result.rowCount ?? 0;
    const found = rows(result.rows);
    return call.method === 'all' ? found : found[0];
  }

  /** Continues work with what its next statement returned, and runs the others. */
  async run<Result>(work: Work<Result>, first?: { rows: unknown }): Promise<Result> {
    let step = first === undefined ? work.next() : work.next(first.rows);
    while (!step.done) {
      let rows: unknown;
      try {
        rows = await this.call(step.value);
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
    // The server answers ROLLBACK if a statement failed and the work went on.
    const { command } = (Array.isArray(results) ? results.at(-1) : results) as pg.QueryResult;
    this.#release();
    if (command !== 'COMMIT') throw new Error('a statement of a committed transaction failed');
  }

  /** Gives the connection back, without what the transaction wrote. */
  async rollBack(): Promise<void> {
    if (this.#released) return;
    if (!this.isBroken) await this.query('ROLLBACK').catch(() => undefined);
    this.#release();
  }

  #release(): void {
    this.#released = true;
    this.#client.release(this.#broken);
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    // Throws at once if a file of the URL cannot be read.
    return await pool.connect();
  } catch (error) {
    throw translatePostgresError(error);
  }
}
