/** A statement of drizzle or of the driver, whose methods need no more than their arguments. */
type Methods = 'all' | 'get' | 'run' | 'iterate';
type Call = (...values: unknown[]) => unknown;

/**
 * Prepares a statement at its first use: a store has some 200 of them, of which most connections use few. Each thread
 * and each command has its own connection.
 */
export function prepared<Statement extends object>(
  prepare: () => Statement,
): Pick<Statement, Extract<keyof Statement, Methods>> {
  return new Prepared(prepare) as unknown as Pick<Statement, Extract<keyof Statement, Methods>>;
}

class Prepared {
  readonly #prepare: () => object;
  #statement: Record<Methods, Call> | undefined;

  constructor(prepare: () => object) {
    this.#prepare = prepare;
  }

  all(...values: unknown[]): unknown {
    return this.#prepared().all(...values);
  }

  get(...values: unknown[]): unknown {
    return this.#prepared().get(...values);
  }

  run(...values: unknown[]): unknown {
    return this.#prepared().run(...values);
  }

  iterate(...values: unknown[]): unknown {
    return this.#prepared().iterate(...values);
  }

  #prepared(): Record<Methods, Call> {
    this.#statement ??= this.#prepare() as Record<Methods, Call>;
    return this.#statement;
  }
}
