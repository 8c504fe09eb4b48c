import { randomUUID } from 'node:crypto';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import { receivedError, sentError } from '../isolation/sent-error.js';
import type { CallOutcome, CallRows, LeaderCall } from './shared-database.js';

export type CallMethods = Record<string, (input: never) => Promise<unknown>>;

/** What the leader does. */
export interface Led {
  methods: CallMethods;
  /** What other processes show of its work. */
  status(): unknown;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Milliseconds between two writes of a status that has not changed. */
const STATUS_MS = 60_000;
/** Milliseconds after which a process that waits for an outcome has all look again: the first look may have failed. */
const REMIND_MS = 5_000;
/**
 * Milliseconds without a leader or a new status after which readiness fails. A lost leader is replaced in a third of
 * them.
 */
const LEADERLESS_MS = 30_000;
/** Milliseconds after which a status is too old, also if there is a leader: two of its writes failed. */
const OLD_STATUS_MS = 3 * STATUS_MS;
/** Milliseconds after which no caller waits for a call: calls wait less than that. */
const OLD_MS = 600_000;
/** Milliseconds between two deletions of old calls. */
const SWEEP_MS = OLD_MS;

/**
 * Calls to the leader, as to a thread: a row has the method and its input, and the leader writes the outcome
 * into it. A new leader answers the calls that the one before it left: all methods can run twice.
 */
export class LeaderCalls {
  readonly #rows: CallRows;
  readonly #leads: () => boolean;
  readonly #hasLeader: () => boolean;
  /** Calls of this process. */
  readonly #pending = new Map<string, Pending>();
  /** Calls of all processes that this one, as the leader, answers now. */
  readonly #answering = new Set<string>();
  #closed = false;
  #written: { text: string; at: number } | undefined;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #known: { status: unknown; at: number } | undefined;
  /** When there was a leader, at the last question. */
  #ledAt = Number.NEGATIVE_INFINITY;

  constructor(rows: CallRows, { leads, hasLeader }: { leads: () => boolean; hasLeader: () => boolean }) {
    this.#rows = rows;
    this.#leads = leads;
    this.#hasLeader = hasLeader;
  }

  /** The status of the leader; undefined if no process has led for a while. */
  get currentStatus(): unknown {
    const known = this.#known;
    if (known === undefined) return undefined;
    if (this.#hasLeader()) this.#ledAt = performance.now();
    const age = performance.now() - known.at;
    const leaderless = performance.now() - Math.max(known.at, this.#ledAt);
    return age < OLD_STATUS_MS && leaderless < LEADERLESS_MS ? known.status : undefined;
  }

  /** Has the next look write the status, also if it has not changed. */
  writeAgain(): void {
    this.#written = undefined;
  }

  /** Rejects as the leader does, and with `unavailable` if none answers in this time. */
  async call(method: string, input: unknown, milliseconds: number): Promise<unknown> {
    if (this.#pending.size >= SERVER_LIMITS.maxThreadCalls) {
      throw new KrmhubError('unavailable', 'too many requests are waiting for the same work', {
        hint: 'Try again in a few seconds.',
      });
    }
    const id = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const reminder = setInterval(() => this.#rows.remind().catch(() => undefined), REMIND_MS);
    try {
      await this.#rows.add({ id, method, input });
      return await new Promise<unknown>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject });
        timer = setTimeout(
          () => reject(this.currentStatus === undefined ? leaderless() : slow()),
          milliseconds,
        );
      });
    } finally {
      clearTimeout(timer);
      clearInterval(reminder);
      this.#pending.delete(id);
      // The leader deletes what is left.
      this.#rows.delete([id]).catch(() => undefined);
    }
  }

  /** Looks for outcomes of calls, and for calls to answer if this process leads. Call it after notifications. */
  async look(led: Led): Promise<void> {
    await this.#settle();
    if (!this.#leads()) {
      const found = await this.#rows.status();
      if (found !== undefined) this.#known = { status: found.status, at: performance.now() - found.age };
      return;
    }
    await this.writeStatus(led);
    for (const call of await this.#rows.open()) void this.#answer(led, call);
  }

  /** Rejects all calls of this process, and answers no more calls of others. */
  close(): void {
    this.#closed = true;
    for (const { reject } of this.#pending.values()) reject(lostCall());
  }

  async #settle(): Promise<void> {
    const ids = [...this.#pending.keys()];
    if (ids.length === 0) return;
    const found = new Map((await this.#rows.outcomes(ids)).map(({ id, outcome }) => [id, outcome]));
    for (const id of ids) {
      const outcome = found.get(id);
      if (!found.has(id)) this.#pending.get(id)?.reject(lostCall());
      else if (outcome === undefined) continue;
      else if ('error' in outcome) this.#pending.get(id)?.reject(receivedError(outcome.error));
      else this.#pending.get(id)?.resolve(outcome.result);
    }
  }

  /** Writes the status of this process if it leads and there is something new to say. Call it often. */
  async writeStatus(led: Led): Promise<void> {
    if (!this.#leads()) {
      this.#written = undefined;
      return;
    }
    const status = led.status();
    const text = JSON.stringify(status);
    const now = performance.now();
    const isNew = this.#written?.text !== text;
    if (isNew || now - this.#written!.at >= STATUS_MS) {
      await this.#rows.putStatus(status, isNew);
      this.#written = { text, at: now };
    }
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    await this.#rows.deleteOld(OLD_MS);
  }

  async #answer(led: Led, { id, method, input }: LeaderCall): Promise<void> {
    if (this.#answering.has(id)) return;
    this.#answering.add(id);
    try {
      const outcome = await runCall(led.methods[method], method, input);
      // Work that stops with the lead ends early. The next leader does it again.
      if (this.#leads() && !this.#closed) await this.#rows.settle(id, outcome);
    } catch {
      // The server cannot be reached. The caller reminds of the call, and the next look answers it again.
    } finally {
      this.#answering.delete(id);
    }
  }
}

async function runCall(
  work: CallMethods[string] | undefined,
  method: string,
  input: unknown,
): Promise<CallOutcome> {
  try {
    if (work === undefined) throw new Error(`the leader has no method ${method}`);
    return { result: (await work(input as never)) ?? null };
  } catch (error) {
    return { error: sentError(error) };
  }
}

function leaderless(): KrmhubError {
  return new KrmhubError('unavailable', 'the registry has no leader now to build catalogs and sync sources', {
    hint: 'Try again in a few seconds.',
  });
}

function slow(): KrmhubError {
  return new KrmhubError('unavailable', 'the leader of this registry did not answer in time', {
    hint: 'It may still do the work. Try again in a minute.',
  });
}

/** The process stops, or the row of a call is gone, for example because the database server crashed. */
function lostCall(): KrmhubError {
  return new KrmhubError('unavailable', 'the answer of the leader of this registry was lost', {
    hint: 'Try again in a few seconds.',
  });
}
