import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { translatePostgresError } from '../errors.js';
import { PrimaryClient } from '../hosts.js';
import { clientConfig } from '../pool.js';
import {
  CHANNEL,
  forgottenAfter,
  IS_CONNECTED,
  type LeaseName,
  lateAfter,
  lockConnection,
  type Times,
} from './process-table.js';

export interface Lease {
  name: LeaseName;
  /** ID of a process. */
  holder: string;
  /** Differs from the numbers of all earlier leases. */
  number: number;
  pausesBuilds: boolean;
}

/** The processes of a database at a time. */
export interface ProcessState {
  /** Whether the process that asks is one of them. */
  renewed: boolean;
  processes: { id: string; drained: number; late: boolean }[];
  leases: Lease[];
}

const RENEW = `WITH "renewed" AS (
    UPDATE "process" SET "seen_at" = clock_timestamp(), "drained" = $2 WHERE "id" = $1 RETURNING 1
  )
  SELECT (SELECT count(*) FROM "renewed")::int AS "renewed",
    (SELECT coalesce(json_agg(json_build_object('id', "id", 'drained', "drained",
        'late', NOT ${IS_CONNECTED} OR "seen_at" < clock_timestamp() - $3 * interval '1 millisecond')), '[]'::json)
      FROM "process" WHERE "id" <> $1) AS "processes",
    (SELECT coalesce(json_agg(json_build_object('name', "name", 'holder', "holder", 'number', "number",
        'pausesBuilds', "pauses_builds")), '[]'::json) FROM "lease") AS "leases"`;

/**
 * A connection of its own, so that a process can renew its row while all others are busy. It listens for changes, and
 * opens again after it broke. The server ends it if the process sends nothing for some time, so the lock that it has
 * tells the others that the process runs.
 */
export class Heartbeat {
  readonly #url: string;
  readonly #times: Times;
  readonly #onNotice: () => void;
  #client: pg.Client | undefined;
  /** Whether the connection has the lock of this process: the server may still hold it for one that broke. */
  #isLocked = false;

  /** `onNotice` is called when the processes or leases may have changed, or the connection broke. */
  constructor(url: string, times: Times, onNotice: () => void) {
    this.#url = url;
    this.#times = times;
    this.#onNotice = onNotice;
  }

  /** Connects for a process that joins. */
  async open(id: string): Promise<void> {
    await this.close();
    try {
      this.#client = await this.#connect(id);
    } catch (error) {
      throw translatePostgresError(error);
    }
  }

  /** Renews the row of a process, and returns the others and all leases. */
  async renew(id: string, drained: number): Promise<ProcessState> {
    try {
      this.#client ??= await this.#connect(id);
      if (!this.#isLocked) await this.#lock(this.#client, id);
      const { rows } = await this.#client.query(RENEW, [id, drained, forgottenAfter(this.#times)]);
      const { renewed, processes, leases } = rows[0] as Record<keyof ProcessState, never>;
      return { renewed: renewed > 0, processes: JSON.parse(processes), leases: JSON.parse(leases) };
    } catch (error) {
      await this.close();
      throw translatePostgresError(error);
    }
  }

  /** Tells the server that this process runs, without a statement. Returns false if it has to renew its row. */
  async ping(): Promise<boolean> {
    if (this.#client === undefined || !this.#isLocked) return false;
    try {
      await this.#client.query('');
      return true;
    } catch (error) {
      await this.close();
      throw translatePostgresError(error);
    }
  }

  /** Calls `onNotice` of the other processes. */
  async notify(): Promise<void> {
    await this.#client?.query(`NOTIFY ${CHANNEL}`);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    client?.removeAllListeners('notification');
    if (client === undefined) return;
    // A server that cannot be reached any more does not end the connection.
    const timeout = new AbortController();
    const limit = setTimeout(this.#times.lost / 2, undefined, { signal: timeout.signal, ref: false });
    await Promise.race([client.end().catch(() => undefined), limit.catch(() => undefined)]);
    timeout.abort();
  }

  async #connect(id: string): Promise<pg.Client> {
    // A server that does not answer must not take longer than it takes to be lost.
    const limit = this.#times.lost / 2;
    const client = new PrimaryClient({
      ...clientConfig(this.#url),
      connectionTimeoutMillis: limit,
      query_timeout: limit,
      statement_timeout: limit,
    });
    try {
      await client.connect();
      // Others give it up after they have noticed that, and so after `lost`.
      const idle = this.#times.lost - lateAfter(this.#times);
      await client.query(`SET idle_session_timeout = ${idle}; LISTEN ${CHANNEL}`);
      await this.#lock(client, id);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    client.on('notification', () => this.#onNotice());
    client.once('end', () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#onNotice();
    });
    return client;
  }

  async #lock(client: pg.Client, id: string): Promise<void> {
    const { rows } = await client.query<{ locked: number }>(lockConnection(id));
    this.#isLocked = rows[0]?.locked === 1;
  }
}

export function findLease({ leases }: ProcessState, name: LeaseName): Lease | undefined {
  return leases.find((lease) => lease.name === name);
}
