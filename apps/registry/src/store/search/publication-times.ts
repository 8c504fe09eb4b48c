import type { Connection } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import { PUBLISHED_AT } from './rows.js';

/** Functions per read; other searches run between two reads. */
const PAGE = 500;

/**
 * When the displayed release of each function was published, in milliseconds by id; 0 without one. Only the order by
 * time needs it. It is in the rows of releases, which are ten times as large as all others that search reads, so they
 * are read after the first search.
 */
export class PublicationTimes {
  #times = new Float64Array(1);
  /** The first id that was not read yet; undefined if all were. */
  #next: number | undefined = 0;
  readonly #page;

  constructor({ client }: Pick<Connection, 'client'>) {
    this.#page = prepared(() =>
      client
        .prepare<[number], [id: number, published: string | null]>(
          `SELECT id, ${PUBLISHED_AT} FROM function AS shown WHERE id >= ? ORDER BY id LIMIT ${PAGE}`,
        )
        .raw(),
    );
  }

  put(id: number, published: string | null): void {
    if (id >= this.#times.length) this.#grow(Math.max(id + 1, this.#times.length * 2));
    this.#times[id] = published === null ? 0 : Date.parse(published);
  }

  /** Forgets what was read, for example because ids have other functions now. */
  reset(): void {
    this.#times = new Float64Array(1);
    this.#next = 0;
  }

  /** Reads some functions. Returns whether all were read. Call it in a transaction. */
  readSome(): boolean {
    if (this.#next === undefined) return true;
    const rows = this.#page.all(this.#next);
    for (const [id, published] of rows) this.put(id, published);
    this.#next = rows.length < PAGE ? undefined : rows.at(-1)![0] + 1;
    return this.#next === undefined;
  }

  /** Returns all times, for ids below a length: those of upstream functions may be higher. Call it in a transaction. */
  all(length: number): Float64Array {
    while (!this.readSome());
    if (length > this.#times.length) this.#grow(length);
    return this.#times;
  }

  #grow(length: number): void {
    const more = new Float64Array(length);
    more.set(this.#times);
    this.#times = more;
  }
}
