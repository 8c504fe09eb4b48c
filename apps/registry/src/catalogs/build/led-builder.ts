/** One process of a registry builds its catalogs: the leader, which the others ask. */

import { SERVER_LIMITS } from '../../limits.js';
import { LEADER_GRACE_MS, type Leader } from '../../workers/processes/leader.js';
import type { CallMethods } from '../../workers/processes/leader-calls.js';
import { type LeaderRole, onLeader, WhileLeading } from '../../workers/processes/on-leader.js';
import type {
  AwaitableBuilder,
  BuilderStatus,
  CatalogBuilder,
  OnDemandBuilder,
  WaitForBuild,
} from './catalog-builder.js';

/** The builder as any process has it: its own while it leads, else that of the leader. */
export class LedBuilder implements CatalogBuilder {
  readonly #leader: Leader;
  readonly #led: WhileLeading<CatalogBuilder>;
  readonly #role: LeaderRole<AwaitableBuilder & OnDemandBuilder>;
  #paused: Promise<void> | undefined;
  #resume: () => void = () => undefined;
  #hasCaughtUp = false;

  constructor(make: () => CatalogBuilder, leader: Leader) {
    this.#leader = leader;
    this.#led = new WhileLeading(make, 'another process builds the catalogs of this registry');
    this.#role = onLeader(
      'builder',
      {
        waitFor: async (input) => (await this.#led.known?.waitFor(input)) ?? false,
        buildNow: async (input) => this.#led.needed.buildNow(input),
      },
      leader,
    );
  }

  /** What the leader does for builders of other processes. */
  get methods(): CallMethods {
    return this.#role.methods;
  }

  /** Begins to build, after a pause. */
  async lead(): Promise<void> {
    while (this.#paused !== undefined) await this.#paused;
    this.#led.lead();
  }

  /** The leader wakes its builder after each event, of whatever process. */
  wake(): void {
    this.#led.known?.wake();
  }

  async waitFor(input: WaitForBuild): Promise<boolean> {
    const milliseconds = input.milliseconds ?? SERVER_LIMITS.waitMilliseconds;
    try {
      if (!(await this.#role.call('waitFor', { ...input, milliseconds }, milliseconds))) return false;
      // The caller reads what was built from this process.
      await this.#role.catchUp();
      return true;
    } catch {
      // No process leads, or the server cannot be reached: the build comes later.
      return false;
    }
  }

  async buildNow(input: { name: string }): Promise<void> {
    await this.#role.call('buildNow', input, SERVER_LIMITS.waitMilliseconds + LEADER_GRACE_MS);
    await this.#role.catchUp();
  }

  status(): BuilderStatus {
    const status = this.#leader.isHere ? this.ownStatus() : this.#statusOfLeader();
    // Catalogs are served as before while another process begins to lead.
    this.#hasCaughtUp ||= status.caughtUp;
    return { ...status, caughtUp: this.#hasCaughtUp };
  }

  /** Status of the builder of this process. */
  ownStatus(): BuilderStatus {
    return this.#led.known?.status() ?? { caughtUp: false, failing: [] };
  }

  #statusOfLeader(): BuilderStatus {
    const failure = 'the registry has no leader to build catalogs';
    const status = this.#leader.status() as BuilderStatus | undefined;
    return status ?? { caughtUp: false, failure, failing: [] };
  }

  async pause(): Promise<void> {
    this.#paused = new Promise((resolve) => {
      this.#resume = () => {
        this.#paused = undefined;
        resolve();
      };
    });
    try {
      await this.#led.known?.pause();
    } catch (error) {
      this.#resume();
      throw error;
    }
  }

  resume(): void {
    this.#resume();
    this.#led.known?.resume();
  }

  stop(): Promise<void> {
    return this.#led.stop();
  }

  /** Ends building, until the process leads again. */
  follow(): Promise<void> {
    return this.#led.follow();
  }
}
