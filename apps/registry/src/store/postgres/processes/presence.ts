import type { ProcessState } from './heartbeat.js';
import { lateAfter, type Times } from './process-table.js';

/** Milliseconds between two attempts to give processes up: each takes the write lock. */
const SWEEP_MS = 500;

/** A moment: monotonic, and by the clock, which goes on while a machine sleeps. */
export interface Moment {
  at: number;
  time: number;
}

export const now = (): Moment => ({ at: performance.now(), time: Date.now() });

/** What a process knows of its connection, and of those of the others. */
export class Presence {
  readonly #times: Times;
  /** When the last message was sent to which the server answered. */
  #sent: Moment = { at: 0, time: 0 };
  /** Since when the server answers. After the database was away, others need time to connect. */
  #steadySince = Number.NEGATIVE_INFINITY;
  /** Since when other processes have no connection, by ID. */
  #lateSince: ReadonlyMap<string, number> = new Map();
  /** When the last sweep began. */
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(times: Times) {
    this.#times = times;
  }

  /** Whether the others cannot have given this process up, and will not for as long again. */
  get isCurrent(): boolean {
    const { at, time } = now();
    return Math.max(at - this.#sent.at, time - this.#sent.time) <= this.#times.lost / 2;
  }

  get hasLate(): boolean {
    return this.#lateSince.size > 0;
  }

  isLate(id: string): boolean {
    return this.#lateSince.has(id);
  }

  /** The server answered to a message that was sent then. */
  answered(sent: Moment): void {
    if (sent.at - this.#sent.at > this.#times.lost / 2) this.#steadySince = sent.at;
    this.#sent = sent;
  }

  /** Returns whether some of the others are to be given up now. */
  see({ processes }: ProcessState): boolean {
    const { at } = this.#sent;
    const late = processes.filter((one) => one.late).map(({ id }) => id);
    this.#lateSince = new Map(late.map((id) => [id, this.#lateSince.get(id) ?? at]));
    const isLost = at - Math.min(...this.#lateSince.values()) >= lateAfter(this.#times);
    const isSteady = at - this.#steadySince >= this.#times.lost;
    // One with exclusive work may not be lost yet.
    if (!isLost || !isSteady || at - this.#sweptAt < SWEEP_MS) return false;
    this.#sweptAt = at;
    return true;
  }
}
