import type { TokenRecord } from '@krmhub/catalog';
import type { Sql } from '../../sql/sql.js';
import type { Work } from '../../sql/statement.js';

const MAX_RECENT_TOKENS = 1_000;

const known = new WeakMap<Sql, RecentTokens>();

/**
 * Tokens of recent requests by hash: nearly all requests that change something are made with a few tokens. Changes by
 * this connection forget them, and changes of any table by others change the version. A database that cannot tell that
 * others changed it is asked at each request.
 */
export class RecentTokens {
  readonly #database: Sql;
  readonly #tokens = new Map<string, TokenRecord>();
  #version: unknown;

  private constructor(database: Sql) {
    this.#database = database;
  }

  /** Returns the tokens of a database: the same for all who change what a token may do. */
  static of(database: Sql): RecentTokens {
    const tokens = known.get(database) ?? new RecentTokens(database);
    known.set(database, tokens);
    return tokens;
  }

  async get(hash: string): Promise<TokenRecord | undefined> {
    const current = await this.#database.versionOfOthers?.();
    if (current !== this.#version) this.#tokens.clear();
    this.#version = current;
    return this.#tokens.get(hash);
  }

  /** Call it in the work that read the token. */
  add(hash: string, token: TokenRecord): void {
    if (this.#database.versionOfOthers && this.#tokens.size < MAX_RECENT_TOKENS)
      this.#tokens.set(hash, token);
  }

  /** Runs work that changes tokens, or users. */
  readonly write = <Result>(work: () => Work<Result>): Promise<Result> =>
    this.#database.write(() => {
      this.#tokens.clear();
      return work();
    });
}
