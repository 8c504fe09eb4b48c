import { setTimeout as sleep } from 'node:timers/promises';
import { randomInt } from './random.js';

/** A process to ask. */
export interface Target {
  name: string;
  url: string;
}

export interface Answer {
  /** 0 if there is no response: the process has ended, or is stopped, or the response was interrupted. */
  status: number;
  bytes: Buffer;
  text: string;
  headers: Headers;
}

export interface Asked {
  method?: string;
  body?: string | Uint8Array;
  headers?: Record<string, string>;
  /** Instead of the token of the administrator. */
  token?: string;
  /** Statuses that no fault explains, besides those that every request can get. */
  allowed: readonly number[];
  milliseconds?: number;
}

/** Statuses while a server is away, or a disk is full. */
const WITHOUT_SERVER = [503, 507];
/** A process that was stopped before it read the request: to Node.js, the client was slow. Nothing was done. */
const READ_TOO_LATE = 408;
/** Milliseconds after which a client gives up: most do so soon, because a process may be stopped. */
const PATIENCE_MS = 4_000;
const LONG_PATIENCE_MS = 60_000;
/** Milliseconds for which a client that got no response rests. */
const REFUSED_MS = 1_000;
/** Part of the clients with long patience: a request can be answered long after it was sent. */
const PATIENT = 0.1;

/** Requests to the processes of a registry, none of them repeated. Counts them, and finds responses that are wrong. */
export class Requests {
  readonly targets: readonly Target[];
  /** Responses that no fault may cause. */
  readonly wrong: string[] = [];
  /** Reads that got 503, and requests without a response. */
  readonly counts = { sent: 0, unavailableReads: 0, unavailableWrites: 0, unanswered: 0 };
  /** A number from 0 to 1. */
  readonly random: () => number;
  readonly #token: string;

  constructor({
    targets,
    token,
    random,
  }: { targets: readonly Target[]; token: string; random: () => number }) {
    this.targets = targets;
    this.random = random;
    this.#token = token;
  }

  any(): Target {
    return this.targets[randomInt(this.random, this.targets.length)]!;
  }

  async ask({ name, url }: Target, path: string, asked: Asked): Promise<Answer> {
    const { method = 'GET', body, headers, token = this.#token, allowed } = asked;
    const patience = this.random() < PATIENT ? LONG_PATIENCE_MS : PATIENCE_MS;
    this.counts.sent += 1;
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
        headers: { ...headers, authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(asked.milliseconds ?? patience),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      if (response.status === READ_TOO_LATE) throw new Error('not read in time');
      const text = bytes.toString();
      this.#judge(`${name} ${method} ${path}`, response, { text, allowed, reads: method === 'GET' });
      return { status: response.status, bytes, text, headers: response.headers };
    } catch {
      this.counts.unanswered += 1;
      // Otherwise most requests would go to a process that refuses them, which takes the least time.
      await sleep(REFUSED_MS);
      return { status: 0, bytes: Buffer.alloc(0), text: '', headers: new Headers() };
    }
  }

  #judge(
    what: string,
    { status, headers }: Response,
    { text, allowed, reads }: { text: string; allowed: readonly number[]; reads: boolean },
  ): void {
    if (status === 503) {
      this.counts[reads ? 'unavailableReads' : 'unavailableWrites'] += 1;
      // A client must learn that it can try again, and why.
      if (headers.get('retry-after') === null || !text.startsWith('{')) {
        this.wrong.push(`${what}: 503 that is not clear: ${text}`);
      }
    }
    if (!allowed.includes(status) && !WITHOUT_SERVER.includes(status)) {
      this.wrong.push(`${what}: ${status} ${text.slice(0, 1_000)}`);
    }
  }
}
