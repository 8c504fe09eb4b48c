import type { EventReader } from '@krmhub/catalog';
import type { FollowedEvent } from './shared-database.js';

/** Events of the first read. */
const FEW = 50;
/** Events of one read. */
const PAGE = 500;
/** New events after which reading them takes longer than reading again what a process has in memory. */
const MAX_FOLLOWED = 10_000;
/** Events that are applied as notices tell them, before the log is read. */
const MAX_TOLD = FEW - 10;

export interface EventFollowerDeps {
  store: EventReader;
  /**
   * Brings what this process has in memory up to date. Undefined if any event may be among the new ones. It can be
   * called again with the same events.
   */
  apply(events: readonly FollowedEvent[] | undefined): Promise<void>;
}

/**
 * Follows the event log, to which all processes of a database append. One writer at a time numbers events and commits,
 * so an event is never committed after one with a higher sequence.
 *
 * Notices tell the events, mostly without a gap, so that they need not be read. But every client that may connect to the
 * database can send one. So each read begins after the last event that was read, and applies those that were told again.
 */
export class EventFollower {
  readonly #deps: EventFollowerDeps;
  /** The last event that was read. */
  #last: number;
  /** The last event that was read or told. */
  #applied: number;
  /** Events that were told and not applied yet. */
  #told: FollowedEvent[] = [];
  #mustRead = false;

  /** Follows the events after `last`. */
  constructor(deps: EventFollowerDeps, last: number) {
    this.#deps = deps;
    this.#last = last;
    this.#applied = last;
  }

  /** Takes the event of a notice for the next `follow`. */
  tell(event: FollowedEvent): void {
    if (this.#told.length < MAX_TOLD) this.#told.push(event);
    else this.requireRead();
  }

  /** The next `follow` reads the log, whatever it was told. */
  requireRead(): void {
    this.#mustRead = true;
  }

  /** Applies the events that it was told if they are the next ones, or else those that were committed before the call. */
  async follow(): Promise<void> {
    // A read may have found some of them already.
    const told = this.#told.filter(({ sequence }) => sequence > this.#last);
    if (told.length === 0 && this.#told.length > 0 && !this.#mustRead) {
      this.#told = [];
      return;
    }
    const isNext = told.length > 0 && told.every(({ sequence }, at) => sequence === this.#applied + at + 1);
    const mustRead = this.#mustRead || !isNext || told.at(-1)!.sequence > this.#last + MAX_TOLD;
    this.#told = [];
    this.#mustRead = false;
    try {
      if (mustRead) await this.#read();
      else await this.#deps.apply(told);
      this.#applied = mustRead ? this.#last : told.at(-1)!.sequence;
    } catch (error) {
      this.requireRead();
      throw error;
    }
  }

  async #read(): Promise<void> {
    const { store, apply } = this.#deps;
    // Mostly few or no events are new: one statement reads them, with the last known one. A database that was restored
    // from a dump does not have that.
    const from = Math.max(this.#last - 1, 0);
    const [first, ...few] = await store.events(from, FEW);
    const isKnown = this.#last === 0 || first?.sequence === this.#last;
    const events = this.#last === 0 && first !== undefined ? [first, ...few] : few;
    if (isKnown && events.length < FEW - 1) {
      if (events.length === 0) return;
      await apply(events);
      this.#last = events.at(-1)!.sequence;
      return;
    }
    await this.#followMany();
  }

  async #followMany(): Promise<void> {
    const { store, apply } = this.#deps;
    const newest = await store.lastEvent();
    // A database that was restored from a dump has fewer.
    if (newest < this.#last || newest - this.#last > MAX_FOLLOWED) {
      await apply(undefined);
      this.#last = newest;
    }
    while (this.#last < newest) {
      const events = await store.events(this.#last, PAGE);
      if (events.length === 0) return;
      await apply(events);
      this.#last = events.at(-1)!.sequence;
    }
  }
}
