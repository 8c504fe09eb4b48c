import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { PrimaryClient } from '../hosts.js';
import { clientConfig } from '../pool.js';
import { waitForConnection } from './process-table.js';

/** Milliseconds after which the server looks whether one who waits is still there. */
const CHECK_MS = 10_000;

/** Learns at once that the connection of another process has ended: it waits for the lock of that connection. */
export class ConnectionWatch {
  readonly #url: string;
  readonly #retry: number;
  readonly #onEnd: () => void;
  #id: string | undefined;
  #client: pg.Client | undefined;

  /** `retry`: milliseconds before `onEnd` if it cannot wait. */
  constructor(url: string, { retry, onEnd }: { retry: number; onEnd: () => void }) {
    this.#url = url;
    this.#retry = retry;
    this.#onEnd = onEnd;
  }

  /** Watches a process in place of the one before; undefined for none. */
  watch(id: string | undefined): void {
    if (id === this.#id) return;
    this.#id = id;
    this.#client?.end().catch(() => undefined);
    this.#client = undefined;
    if (id !== undefined) void this.#wait(id);
  }

  async #wait(id: string): Promise<void> {
    const client = new PrimaryClient(clientConfig(this.#url));
    this.#client = client;
    try {
      await client.connect();
      // No such check on some systems: then a connection stays until the process that it waits for ends.
      await client.query(`SET client_connection_check_interval = ${CHECK_MS}`).catch(() => undefined);
      await client.query(waitForConnection(id));
    } catch {
      await setTimeout(this.#retry, undefined, { ref: false });
    }
    client.end().catch(() => undefined);
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#id = undefined;
    this.#onEnd();
  }
}
