/**
 * Runs work in worker threads, and work on hostile input in bounded processes.
 *
 * The main thread answers HTTP and writes. Worker threads with their own database connections search, build snapshots,
 * sync sources, move the log into the database, and rewrite the database after a takedown. One without a connection
 * hashes large catalogs.
 *
 * Messages carry calls, results, and notifications: a new snapshot is announced before any caller learns of it. If a
 * thread fails, its pending calls are rejected and it starts again. Hostile input is read in a bounded process instead
 * of a thread (bounded-process.ts), because V8 can end the whole process when the heap of one thread is full.
 *
 * @module
 */

import type { Worker } from 'node:worker_threads';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { AnyRole, Input, Methods } from './role.js';
import { receivedError } from './sent-error.js';
import type { Call, CallResult, Notice } from './serve-role.js';

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface ThreadOptions {
  /** Name in the log. */
  name: string;
  start(): Worker;
  log: Log;
  /** Called with notifications from the thread. */
  onNotice?: (name: string, input: unknown) => void;
}

/**
 * A worker thread that serves a role. It starts with `start` or the first call. If it fails, its pending calls
 * reject with `unavailable`, and it is restarted.
 */
export class Thread<Role extends Methods<Role> = AnyRole> {
  readonly #options: ThreadOptions;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #calls = 0;
  #closing = false;
  #restart: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Returns the number of pending calls. */
  get pending(): number {
    return this.#pending.size;
  }

  get isStarted(): boolean {
    return this.#worker !== undefined;
  }

  start(): void {
    if (!this.#closing) this.#started();
  }

  async call<Name extends keyof Role & string>(
    method: Name,
    ...[input]: Input<Role[Name]>
  ): Promise<Awaited<ReturnType<Role[Name]>>> {
    if (this.#closing || this.#restart !== undefined) throw stopped();
    if (this.#pending.size >= SERVER_LIMITS.maxThreadCalls) {
      throw new KrmhubError('unavailable', 'too many requests are waiting for the same work', {
        hint: 'Try again in a few seconds.',
      });
    }
    const id = this.#calls++;
    const worker = this.#started();
    return new Promise<Awaited<ReturnType<Role[Name]>>>((resolve, reject) => {
      worker.postMessage({ id, method, input } satisfies Call);
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
    });
  }

  /** Lets the role end its work with its method `stop`, if it has begun, and then terminates the thread. */
  async stop(): Promise<void> {
    const stopping = this as unknown as Thread<{ stop(): Promise<void> }>;
    if (this.isStarted) await stopping.call('stop').catch(() => undefined);
    await this.close();
  }

  /** Terminates the thread and rejects its pending calls. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    await this.#worker?.terminate();
    this.#rejectAll();
  }

  #started(): Worker {
    this.#worker ??= this.#start();
    return this.#worker;
  }

  #start(): Worker {
    const { name, start, log, onNotice } = this.#options;
    const worker = start();
    worker.on('message', (message: CallResult | Notice) => {
      if ('notice' in message) {
        onNotice?.(message.notice, message.input);
        return;
      }
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if ('error' in message) pending?.reject(receivedError(message.error));
      else pending?.resolve(message.result);
    });
    worker.on('error', (error) => log.error({ err: error, thread: name }, 'a worker thread failed'));
    worker.on('exit', () => {
      if (this.#closing) return;
      this.#rejectAll();
      this.#restart = setTimeout(() => {
        this.#restart = undefined;
        this.#worker = this.#start();
      }, SERVER_LIMITS.minRetryMilliseconds);
    });
    return worker;
  }

  #rejectAll(): void {
    for (const { reject } of this.#pending.values()) reject(stopped());
    this.#pending.clear();
  }
}

function stopped(): KrmhubError {
  return new KrmhubError('unavailable', 'this part of the registry is starting or stopping', {
    hint: 'Try again in a few seconds.',
  });
}
