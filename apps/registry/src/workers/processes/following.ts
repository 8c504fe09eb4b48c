/**
 * What several processes of one database do so that a change on one is soon known to all: each of them follows the event
 * log, and asks the one that leads for what only that one can do. Both are polled. Notifications of the database only
 * make them sooner: they can be lost with the connection that hears them.
 */

import type { Event } from '@krmhub/catalog';
import type { Log } from '../../log.js';
import { EventFollower } from './event-follower.js';
import type { Leader } from './leader.js';
import { LeaderCalls, type Led } from './leader-calls.js';
import { Poller } from './poller.js';
import type { SharedDatabase } from './shared-database.js';

/** Milliseconds between two looks if no notification comes: users hardly notice them. */
const POLL_MS = 250;

export interface FollowingDeps {
  shared: SharedDatabase;
  /** Whether this process leads now, and has begun to build. False before that work stops. */
  leads: () => boolean;
  log: Log;
}

export class Following implements Leader {
  readonly #deps: FollowingDeps;
  readonly #calls: LeaderCalls;
  readonly #from: number;
  #pollers: { events: Poller; calls: Poller } | undefined;
  #listener: { close(): Promise<void> } | undefined;

  private constructor(deps: FollowingDeps, from: number) {
    this.#deps = deps;
    this.#from = from;
    this.#calls = new LeaderCalls(deps.shared.calls, deps.leads);
  }

  /** Open it before this process has anything of the database in memory. */
  static async open(deps: FollowingDeps): Promise<Following> {
    return new Following(deps, await deps.shared.events.lastEvent());
  }

  /** Begins to follow: `apply` gets all events since `open`. `led` is used while this process leads. */
  start(apply: (events: readonly Event[] | undefined) => Promise<void>, led: Led): void {
    const { shared, log } = this.#deps;
    const events = new EventFollower({ store: shared.events, apply }, this.#from);
    const milliseconds = POLL_MS;
    const pollers = {
      events: new Poller({ what: 'follow the event log', work: () => events.follow(), milliseconds, log }),
      calls: new Poller({
        what: 'read the requests of other processes',
        work: () => this.#calls.look(led),
        milliseconds,
        log,
      }),
    };
    this.#pollers = pollers;
    this.#listener = shared.listen(() => {
      pollers.events.soon();
      pollers.calls.soon();
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

  async catchUp(): Promise<void> {
    await this.#pollers?.events.now();
  }

  async stop(): Promise<void> {
    this.#calls.close();
    await this.#listener?.close();
    await this.#pollers?.events.stop();
    await this.#pollers?.calls.stop();
  }
}
