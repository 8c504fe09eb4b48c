import type { Sql } from '../../sql/sql.js';
import { text } from '../../sql/statement.js';

/** Channel on which processes notify each other of changes to the tables `process` and `lease`. */
export const CHANNEL = 'krmhub_process';

/** `background`: the holder leads. `exclusive`: the others wait until it is gone. */
export type LeaseName = 'background' | 'exclusive';

/** Times of processes that are injected in tests; milliseconds. */
export interface Times {
  /** Between two messages to the server, which ends the connection of a process that sends none. */
  renew: number;
  /** Between two renewals of the row while nothing says that the processes or leases changed. */
  read: number;
  /** After which a process that sent nothing is lost. */
  lost: number;
  /** After which exclusive work is refused if a process still stores bytes. All others wait meanwhile. */
  drain: number;
}

/** A migration after which processes of older versions must not run raises it. */
const TABLES_VERSION = 4;

/** Class of the locks that processes hold on their connections, by the hash of the ID. */
const CONNECTED_LOCK = 0x6b726d70;

/**
 * Locks the connection of a process, unless another one has the lock. The lock ends with the connection, at once if the
 * process is killed.
 */
export function lockConnection(id: string): string {
  return `SELECT pg_try_advisory_lock(${CONNECTED_LOCK}, hashtext('${id}')) AS locked`;
}

/** Waits until the connection of a process ends. */
export function waitForConnection(id: string): string {
  return `SELECT pg_advisory_lock_shared(${CONNECTED_LOCK}, hashtext('${id}'))`;
}

/** Whether a process has the lock of its connection; those who wait for it can have it for a moment, shared. */
export const IS_CONNECTED = `EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
  AND granted AND classid = ${CONNECTED_LOCK} AND objid = (hashtext("process"."id")::bigint & 4294967295)::oid
  AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

/**
 * A process that is not connected. One with exclusive work, which renews its row all the time, relies on `lost` of it
 * while it deletes bytes. For safety, also one that did not renew for `forgotten`.
 */
const LOST = `"seen_at" < clock_timestamp() - :forgotten * interval '1 millisecond' OR
  ("seen_at" < clock_timestamp() - :lost * interval '1 millisecond'
    OR NOT EXISTS (SELECT 1 FROM "lease" WHERE "holder" = "process"."id" AND "name" = 'exclusive'))
  AND pg_try_advisory_xact_lock(${CONNECTED_LOCK}, hashtext("process"."id"))`;

/** A process that runs, of any version: earlier ones have no lock, and renew their rows all the time. */
export const RUNS = `${IS_CONNECTED} OR "seen_at" > clock_timestamp() - :lost * interval '1 millisecond'`;

/** Milliseconds for which a process may be without a connection before the others give it up. */
export function lateAfter({ renew }: Times): number {
  return 2 * renew;
}

/** Milliseconds without a renewal of its row after which a process is lost, also if it is connected. */
export function forgottenAfter({ read, lost }: Times): number {
  return 3 * read + lost;
}

const NOTIFY = text<never>(`SELECT pg_notify('${CHANNEL}', '')`);
const DELETE_LOST = text<never>(`DELETE FROM "process" WHERE ${LOST}`);
const DELETE_PROCESS = text<never>('DELETE FROM "process" WHERE "id" = :id');
const OTHER_BLOBS = text<never>('SELECT 1 FROM "process" WHERE NOT ("shared_blobs" AND :shared = 1) LIMIT 1');
const INSERT_PROCESS = text<never>(
  `INSERT INTO "process" VALUES (:id, clock_timestamp(), clock_timestamp(), :shared = 1, 0, ${TABLES_VERSION})`,
);
const INSERT_LEASE = text<{ number: number }>(
  `INSERT INTO "lease" ("name", "holder", "pauses_builds") SELECT :name, "id", :pauses = 1 FROM "process"
     WHERE "id" = :id
   ON CONFLICT DO NOTHING RETURNING "number"`,
);
const DELETE_LEASE = text<never>('DELETE FROM "lease" WHERE "name" = :name AND "holder" = :id');

/**
 * Changes to the tables `process` and `lease`, each in a transaction with the write lock, so that they are in one order
 * with all writes.
 */
export class ProcessTable {
  readonly #sql: Sql;
  readonly #times: Times;

  constructor(sql: Sql, times: Times) {
    this.#sql = sql;
    this.#times = times;
  }

  /**
   * Adds a process in the place of those that are lost. Returns false if its blobs, or those of another process, are
   * in its own folder, so that only one can run.
   */
  join(id: string, { shared }: { shared: boolean }): Promise<boolean> {
    const { lost } = this.#times;
    const forgotten = forgottenAfter(this.#times);
    return this.#sql.write(function* () {
      yield* DELETE_LOST.run({ lost, forgotten });
      if ((yield* OTHER_BLOBS.first({ shared: Number(shared) })) !== undefined) return false;
      yield* INSERT_PROCESS.run({ id, shared: Number(shared) });
      yield* INSERT_LEASE.first({ name: 'background', id, pauses: 0 });
      yield* NOTIFY.run();
      return true;
    });
  }

  /** Removes a process and its leases. */
  leave(id: string): Promise<void> {
    return this.#sql.write(function* () {
      yield* DELETE_PROCESS.run({ id });
      yield* NOTIFY.run();
    });
  }

  /** Removes the processes that are lost, and their leases. Returns how many. */
  sweep(): Promise<number> {
    const { lost } = this.#times;
    const forgotten = forgottenAfter(this.#times);
    return this.#sql.write(function* () {
      const swept = yield* DELETE_LOST.run({ lost, forgotten });
      if (swept > 0) yield* NOTIFY.run();
      return swept;
    });
  }

  /** Returns the number of the lease; undefined if it is taken, or the process is lost. */
  take(name: LeaseName, id: string, { pausesBuilds = false } = {}): Promise<number | undefined> {
    return this.#sql.write(function* () {
      const lease = yield* INSERT_LEASE.first({ name, id, pauses: Number(pausesBuilds) });
      if (lease !== undefined) yield* NOTIFY.run();
      return lease?.number;
    });
  }

  giveBack(name: LeaseName, id: string): Promise<void> {
    return this.#sql.write(function* () {
      yield* DELETE_LEASE.run({ name, id });
      yield* NOTIFY.run();
    });
  }
}
