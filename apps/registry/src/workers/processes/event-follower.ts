import type { Event, EventStore } from '@krmhub/catalog';

/** Events of the first read. */
const FEW = 50;
/** Events of one read. */
const PAGE = 500;
/** New events after which reading them takes longer than reading again what a process has in memory. */
const MAX_FOLLOWED = 10_000;

export interface EventFollowerDeps {
  store: Pick<EventStore, 'events' | 'lastEvent'>;
  /**
   * Brings what this process has in memory up to date. Undefined if any event may be among the new ones. After a
   * failure, it is called again with the same events.
   */
  apply(events: readonly Event[] | undefined): Promise<void>;
}

/**
 * Follows the event log, to which all processes of a database append. One writer at a time numbers events and commits,
 * so an event is never committed after one with a higher sequence.
 */
export class EventFollower {
  readonly #deps: EventFollowerDeps;
  #last: number;

  /** Follows the events after `last`. */
  constructor(deps: EventFollowerDeps, last: number) {
    this.#deps = deps;
    this.#last = last;
  }

  /** Applies the events that were committed before the call. */
  async follow(): Promise<void> {
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
