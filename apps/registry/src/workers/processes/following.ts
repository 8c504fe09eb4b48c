/**
 * What several processes of one database do so that a change on one is soon known to all: each of them follows the event
 * log, and asks the one that leads for what only that one can do. Notifications of the database say when to look. They
 * can be lost with the connection that hears them, so all look often while it is broken, and sometimes while it is not.
 */

import type { Log } from '../../log.js';
import { EventFollower } from './event-follower.js';
import type { Leader } from './leader.js';
import { LeaderCalls, type Led } from './leader-calls.js';
import { Poller } from './poller.js';
import type { Processes } from './processes.js';
import type { FollowedEvent, Listening, SharedDatabase } from './shared-database.js';

/** Milliseconds between two looks while no notification can come: users hardly notice them. */
const POLL_MS = 250;
/** Milliseconds between two looks while notifications come: the connection is checked, and says if it breaks. */
const BACKUP_MS = 60_000;
/** As `BACKUP_MS`, for the event log: rights that ended in another process must end here within a minute. */
const BACKUP_OF_EVENTS_MS = 30_000;
/** Milliseconds after the last look at the event log for which a process counts on what it knows. */
const CURRENT_MS = 55_000;

export interface FollowingDeps {
  shared: SharedDatabase;
  /** Whether this process leads now, and has begun to build. False before that work stops. */
  leads: () => boolean;
  processes: Pick<Processes, 'hasLeader'>;
  log: Log;
}

export class Following implements Leader {
  readonly #deps: FollowingDeps;
  readonly #calls: LeaderCalls;
  readonly #from: number;
  #pollers: { events: Poller; calls: Poller; status: Poller } | undefined;
  #events: EventFollower | undefined;
  #listener: Listening | undefined;
  #isLeading = false;
  /** When the last look began that has ended, by `performance.now`. */
  #lookedAt = performance.now();

  private constructor(deps: FollowingDeps, from: number) {
    this.#deps = deps;
    this.#from = from;
    const { shared, leads, processes } = deps;
    this.#calls = new LeaderCalls(shared.calls, { leads, hasLeader: () => processes.hasLeader() });
  }

  /** Open it before this process has anything of the database in memory. */
  static async open(deps: FollowingDeps): Promise<Following> {
    return new Following(deps, await deps.shared.events.lastEvent());
  }

  /** Begins to follow: `apply` gets all events since `open`. `led` is used while this process leads. */
  start(apply: (events: readonly FollowedEvent[] | undefined) => Promise<void>, led: Led): void {
    const { shared, log } = this.#deps;
    const events = new EventFollower({ store: shared.events, apply }, this.#from);
    const within = (backup: number) => () => (this.#listener?.isConnected ? backup : POLL_MS);
    const pollers = {
      events: new Poller({
        what: 'follow the event log',
        work: async () => {
          const began = performance.now();
          await events.follow();
          this.#lookedAt = began;
        },
        milliseconds: within(BACKUP_OF_EVENTS_MS),
        log,
      }),
      calls: new Poller({
        what: 'read the requests of other processes',
        work: () => this.#calls.look(led),
        milliseconds: within(BACKUP_MS),
        log,
      }),
      // What it says is in memory: it mostly needs no statement.
      status: new Poller({
        what: 'tell the other processes how the work goes',
        work: async () => {
          const wasLeading = this.#isLeading;
          this.#isLeading = this.isHere;
          // The leader before it may have left calls.
          if (this.#isLeading && !wasLeading) pollers.calls.soon();
          await this.#calls.writeStatus(led);
        },
        milliseconds: () => POLL_MS,
        log,
      }),
    };
    this.#events = events;
    this.#pollers = pollers;
    this.#listener = shared.listen((about) => {
      // The server may have lost what the leader wrote.
      if (about === 'all') this.#calls.writeAgain();
      if (typeof about === 'object') events.tell(about.event);
      else if (about !== 'leader') events.requireRead();
      if (about !== 'leader') pollers.events.soon();
      if (about === 'leader' || about === 'all') pollers.calls.soon();
    });
  }

  get isHere(): boolean {
    return this.#deps.leads();
  }

  call(method: string, input: unknown, milliseconds: number): Promise<unknown> {
    return this.#calls.call(method, input, milliseconds);
  }

  status(): unknown {
    return this.#calls.currentStatus;
  }

  isCurrent(): boolean {
    return performance.now() - this.#lookedAt < CURRENT_MS;
  }

  async catchUp(): Promise<void> {
    this.#events?.requireRead();
    await this.#pollers?.events.now();
  }

  async stop(): Promise<void> {
    this.#calls.close();
    await this.#listener?.close();
    await this.#pollers?.events.stop();
    await this.#pollers?.calls.stop();
    await this.#pollers?.status.stop();
  }
}
