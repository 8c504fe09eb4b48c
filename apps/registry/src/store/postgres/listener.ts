import { setTimeout as sleep } from 'node:timers/promises';
import type { EventType } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Log } from '../../log.js';
import type { Listening, Notice } from '../../workers/processes/shared-database.js';
import { PrimaryClient } from './hosts.js';
import { ABOUT_LEADER } from './leader-calls.js';
import { clientConfig } from './pool.js';

/** The channel of all notifications: an event, or that there is something to read, and of which kind. */
export const CHANNEL = 'krmhub';
/** What migrations/postgres/0031_event_notice.sql sends. */
const EVENT = /^(\d{1,15}) ([a-z.-]+)(?: (\S+))?(?: (\d{1,15}))?$/;
/** Events of each publish. Others are read: what they say ends rights, or removes bytes from memory. */
const TOLD: ReadonlySet<string> = new Set<EventType>(['release.published', 'catalog.cut']);
/** Milliseconds until the first attempt to connect again; each further one takes twice as long. */
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;
/** Milliseconds between two checks that the server still answers. */
const CHECK_MS = 10_000;
/** Milliseconds after which a server that does not answer a check counts as unreachable. */
const ANSWER_MS = 5_000;

/**
 * A connection that hears the notifications of a database, and is opened again if it breaks. Some can be missed
 * meanwhile, so its users also poll.
 */
export class Listener implements Listening {
  readonly #url: string;
  readonly #log: Log;
  readonly #onNotice: (about: Notice) => void;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #isConnected = false;

  /** `onNotice` is called for notifications, and when a connection begins or ends: some may have been missed. */
  constructor(url: string, { log, onNotice }: { log: Log; onNotice: (about: Notice) => void }) {
    this.#url = url;
    this.#log = log;
    this.#onNotice = onNotice;
    this.#running = this.#run();
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#closing.signal.aborted) {
      try {
        await this.#listen(() => {
          failures = 0;
        });
      } catch (error) {
        // The operations of the registry report a server that cannot be reached.
        const level = failures === 0 ? 'warn' : 'debug';
        if (!this.#closing.signal.aborted)
          this.#log[level]({ err: error }, 'the connection for notifications of the database has ended');
      }
      const delay = Math.min(MIN_RETRY_MS * 2 ** Math.min(failures, 10), MAX_RETRY_MS);
      failures += 1;
      await this.#sleep(delay);
    }
  }

  /** Listens until the connection breaks. */
  async #listen(onConnected: () => void): Promise<void> {
    const client = new PrimaryClient({ ...clientConfig(this.#url), query_timeout: ANSWER_MS });
    const ended = new AbortController();
    const { signal } = this.#closing;
    const end = () => ended.abort();
    client.on('error', end);
    client.once('end', end);
    signal.addEventListener('abort', end);
    try {
      await client.connect();
      client.on('notification', ({ payload }) => this.#onNotice(readNotice(payload)));
      await client.query(`LISTEN ${CHANNEL}`);
      onConnected();
      this.#isConnected = true;
      this.#onNotice('all');
      while (!ended.signal.aborted) {
        await sleep(CHECK_MS, undefined, { signal: ended.signal }).catch(() => undefined);
        // Without a statement: the server only answers.
        if (!ended.signal.aborted) await client.query('');
      }
      if (!signal.aborted) throw new Error('the server closed the connection');
    } finally {
      signal.removeEventListener('abort', end);
      if (this.#isConnected) {
        this.#isConnected = false;
        this.#onNotice('all');
      }
      await Promise.race([client.end().catch(() => undefined), sleep(ANSWER_MS, undefined, { ref: false })]);
    }
  }

  async #sleep(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }
}

/** A notice of another program can only have this process read the log, or look for a snapshot. */
function readNotice(payload: string | undefined): Notice {
  if (payload === ABOUT_LEADER) return 'leader';
  const [, sequence, type, catalog, serial] = EVENT.exec(payload ?? '') ?? [];
  if (sequence === undefined || !TOLD.has(type!)) return 'events';
  const named = defined({ catalog, serial: serial === undefined ? undefined : Number(serial) });
  return { event: { sequence: Number(sequence), type: type as EventType, ...named } };
}
