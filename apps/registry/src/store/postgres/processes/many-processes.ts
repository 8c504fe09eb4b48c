/**
 * The processes of a registry on one PostgreSQL database: their rows, leases, and exclusive work.
 *
 * Each has a row, and a connection with a lock, which the server ends if the process sends nothing for seconds: empty
 * messages suffice. All times are those of the database, so that clocks of machines do not matter.
 * - A process without its connection is lost after some seconds, and any other one deletes its row. Each write
 *   transaction requires the row of its process (`require_process`), in the round trip that begins it. So a paused
 *   process cannot commit after the others went on without it. It joins with another ID, once it stores no bytes.
 * - Leases are rows that end with the row of their holder. The holder of `background` leads. The others wait for the
 *   lock of its connection, so they learn at once that it has ended. Changes of rows are notified.
 * - The holder of `exclusive` waits until every other process stores no bytes: each records the number of the lease,
 *   and waits until it is gone. A process that joins later finds it, because both transactions have the write lock.
 *   Meanwhile, all renew their rows every few seconds, as they do while one of them has no connection.
 * - Objects in S3 cannot be part of a transaction: before one is deleted, `ensureCurrent` checks that the server had the
 *   connection of this process shortly before.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { LocalLock } from '../../../workers/processes/local-lock.js';
import type { BytesLock, LedWork, Pausable, Processes } from '../../../workers/processes/processes.js';
import { Waker } from '../../../workers/processes/waker.js';
import { Attempts } from './attempts.js';
import { beginWithin } from './begin-within.js';
import { ConnectionWatch } from './connection-watch.js';
import { findLease, Heartbeat, type Lease, type ProcessState } from './heartbeat.js';
import { LedWorks } from './led-work.js';
import { now, Presence } from './presence.js';
import { lost, taken } from './process-errors.js';
import { type Draining, type ManyProcessesOptions, TIMES } from './process-options.js';
import { ProcessTable, type Times } from './process-table.js';

/** Milliseconds between two attempts to renew or join while the database cannot be reached. */
const RETRY_MS = 500;

export class ManyProcesses implements Processes {
  readonly #options: ManyProcessesOptions;
  readonly #times: Times;
  readonly #table: ProcessTable;
  readonly #heartbeat: Heartbeat;
  readonly #watch: ConnectionWatch;
  readonly #presence: Presence;
  readonly #led: LedWorks;
  readonly #lock = new LocalLock();
  readonly #beforeDrained: (() => Promise<void>)[] = [];
  readonly #attempts: Attempts;
  readonly #waker = new Waker();
  readonly #watchers = new Set<() => void>();
  #id = newId();
  /** Whether this process can write: false after the others gave it up, until it has joined again. */
  #joined = false;
  /** Whether it has read the leases since it joined: another process may be deleting bytes. */
  #knowsLeases = false;
  #state: ProcessState = { renewed: false, processes: [], leases: [] };
  /** Numbers of the last round that began, and of the one that read `#state`. */
  #rounds = { begun: 0, read: 0 };
  /** When the row was last renewed. */
  #readAt = Number.NEGATIVE_INFINITY;
  /** Before this time, it does not lead: it could not do the work. */
  #leadsFrom = Number.NEGATIVE_INFINITY;
  /** The last exclusive work for which this process stored no bytes, and what the others know of it. */
  #drained = { number: 0, told: 0 };
  #draining: Draining | undefined;
  /** One exclusive work of this process at a time. */
  #exclusive: Promise<unknown> = Promise.resolve();
  #follows = false;
  #leaving = false;
  #running: Promise<void> | undefined;

  private constructor(options: ManyProcessesOptions) {
    this.#options = options;
    this.#times = options.times ?? TIMES;
    this.#table = new ProcessTable(options.sql, this.#times);
    this.#heartbeat = new Heartbeat(options.url, this.#times, this.#waker.wake);
    this.#presence = new Presence(this.#times);
    this.#attempts = new Attempts(options.log, this.#waker.wake);
    this.#watch = new ConnectionWatch(options.url, { retry: this.#times.renew, onEnd: this.#waker.wake });
    this.#led = new LedWorks(options.log, () => this.#leaveLead());
  }

  /** Joins. Rejects with `unavailable` if another process has the database for itself. */
  static async join(options: ManyProcessesOptions): Promise<ManyProcesses> {
    const processes = new ManyProcesses(options);
    const until = performance.now() + processes.#times.lost + processes.#times.renew;
    try {
      while (!(await processes.#join())) {
        if (performance.now() > until) throw taken();
        await setTimeout(RETRY_MS);
      }
      await processes.#round();
    } catch (error) {
      await processes.leave();
      throw error;
    }
    processes.#running = processes.#run();
    return processes;
  }

  get id(): string {
    return this.#id;
  }

  get leads(): boolean {
    return this.#led.leads;
  }

  readonly joined = () => this.#state.processes.length + (this.#joined ? 1 : 0);
  readonly bytesLock: BytesLock = {
    read: (work) => this.#read(work),
    write: (work) => this.#acrossProcesses(false, work),
    exclusively: (work) => this.#acrossProcesses(true, work),
  };

  hasLeader(): boolean {
    const lease = findLease(this.#state, 'background');
    if (lease?.holder === this.#id) return this.#joined;
    return this.#state.processes.some(({ id, late }) => id === lease?.holder && !late);
  }

  onLead(work: LedWork): Promise<void> {
    return this.#led.add(work);
  }

  pauses(builder: Pausable): void {
    this.#lock.pauses(builder);
  }

  beforeDrained(work: () => Promise<void>): void {
    this.#beforeDrained.push(work);
  }

  ensureCurrent(): void {
    if (!this.#joined || !this.#presence.isCurrent) throw lost();
  }

  async stop(): Promise<void> {
    this.#follows = true;
    await this.#led.follow();
  }

  /** Leaves, so that others need not wait until this process is lost. */
  async leave(): Promise<void> {
    if (this.#leaving) return;
    this.#follows = true;
    this.#leaving = true;
    this.#attempts.close();
    this.#joined = false;
    this.#draining?.end();
    this.#notifyWatchers();
    this.#waker.wake();
    await this.#running;
    await this.#led.follow();
    await this.#attempts.ended();
    await this.#table.leave(this.#id).catch((error) => {
      this.#options.log.warn(
        { err: error },
        'cannot sign off from the other processes; they wait until they remove this one',
      );
    });
    this.#watch.watch(undefined);
    await this.#heartbeat.close();
  }

  async #join(): Promise<boolean> {
    await this.#heartbeat.open(this.#id);
    const sent = now();
    if (!(await this.#table.join(this.#id, { shared: this.#options.sharedBlobs }))) return false;
    this.#presence.answered(sent);
    this.#joined = true;
    return true;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    let failed = false;
    while (!this.#leaving) {
      const woken = await this.#waker.rest(failed ? RETRY_MS : this.#times.renew);
      if (this.#leaving) return;
      try {
        if (woken || failed || !this.#isQuiet) await this.#round();
        else await this.#ping();
        if (failed) log.info('renewed the row of this process again');
        failed = false;
      } catch (error) {
        if (!failed) log.warn({ err: error }, 'cannot renew the row of this process');
        failed = true;
      }
    }
  }

  /** Whether there is nothing to learn of the others: what they change is notified. */
  get #isQuiet(): boolean {
    return (
      performance.now() - this.#readAt < this.#times.read &&
      !this.#presence.hasLate &&
      this.#draining === undefined &&
      findLease(this.#state, 'background') !== undefined &&
      findLease(this.#state, 'exclusive') === undefined
    );
  }

  async #ping(): Promise<void> {
    if (!this.#joined) return;
    const sent = now();
    if (!(await this.#heartbeat.ping())) return this.#round();
    if (this.#joined) this.#presence.answered(sent);
  }

  /** Renews, and does what follows from the other processes and leases. */
  async #round(): Promise<void> {
    // While it joins again, it has no row.
    if (!this.#joined) return;
    const id = this.#id;
    const drained = this.#drained.number;
    const round = ++this.#rounds.begun;
    const sent = now();
    const state = await this.#heartbeat.renew(id, drained);
    if (!this.#joined) return;
    if (!state.renewed) return this.#lose();
    if (drained !== this.#drained.told) await this.#heartbeat.notify();
    this.#drained.told = drained;
    this.#presence.answered(sent);
    this.#readAt = sent.at;
    this.#state = state;
    this.#rounds.read = round;
    if (this.#presence.see(state)) this.#attempts.start('sweep', () => this.#sweep());
    const lead = findLease(state, 'background');
    this.#followLead(lead);
    const isWatched = lead !== undefined && lead.holder !== id && !this.#presence.isLate(lead.holder);
    this.#watch.watch(isWatched ? lead.holder : undefined);
    this.#followExclusive(findLease(state, 'exclusive'));
    this.#knowsLeases = true;
    this.#notifyWatchers();
  }

  async #sweep(): Promise<void> {
    const lost = await this.#table.sweep();
    if (lost > 0)
      this.#options.log.warn({ processes: lost }, 'gave up processes that did not renew their rows');
  }

  #followLead(lease: Lease | undefined): void {
    const { log } = this.#options;
    if (this.#follows || this.leads || performance.now() < this.#leadsFrom) return;
    if (lease?.holder === this.#id) {
      log.info({ process: this.#id }, 'this process is the leader');
      this.#led.lead();
    } else if (lease === undefined) {
      this.#attempts.start('lead', () => this.#table.take('background', this.#id));
    }
  }

  #leaveLead(): void {
    this.#options.log.warn(
      { process: this.#id },
      'this process is no longer the leader; another process can take over',
    );
    this.#leadsFrom = performance.now() + this.#times.lost;
    this.#attempts.start('leave the lead', async () => {
      const id = this.#id;
      await this.#led.follow();
      await this.#table.giveBack('background', id);
    });
  }

  #followExclusive(lease: Lease | undefined): void {
    const others = lease !== undefined && lease.holder !== this.#id ? lease : undefined;
    if (this.#draining !== undefined && this.#draining.number !== others?.number) this.#draining.end();
    if (others !== undefined && this.#draining === undefined) this.#drain(others);
  }

  /** Stores no bytes until another process has ended its work. */
  #drain({ number, pausesBuilds }: Lease): void {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const draining = { number, end };
    this.#draining = draining;
    const tell = async () => {
      for (const work of this.#beforeDrained) await work();
      // It may have been given up and joined again meanwhile.
      if (this.#draining !== draining) return;
      this.#drained.number = number;
      this.#waker.wake();
    };
    const wait = async () => {
      await Promise.race([tell(), ended]);
      await ended;
    };
    void (pausesBuilds ? this.#lock.exclusively(wait) : this.#lock.write(wait))
      .catch(async (error) => {
        this.#options.log.error({ err: error }, 'cannot wait for the exclusive work of another process');
        await setTimeout(RETRY_MS);
      })
      .finally(() => {
        this.#draining = undefined;
        this.#waker.wake();
      });
  }

  /** The others removed this process. It joins again once nothing is left that began before. */
  #lose(): void {
    this.#joined = false;
    this.#knowsLeases = false;
    this.#options.log.warn({ process: this.#id }, 'the other processes removed this one; it joins again');
    this.#draining?.end();
    this.#notifyWatchers();
    this.#attempts.start('join', async () => {
      await this.#led.follow();
      await this.#lock.write(async () => {
        this.#drained = { number: 0, told: 0 };
        for (; !this.#leaving; await setTimeout(RETRY_MS)) {
          // An attempt can have stored its row though it failed. The others remove that one.
          this.#id = newId();
          const joined = await this.#join().catch((error) => {
            this.#options.log.warn({ err: error }, 'cannot join the other processes again');
          });
          if (joined) break;
        }
      });
    });
  }

  async #read<Result>(work: () => Promise<Result>): Promise<Result> {
    const ensureKnown = () => {
      if (!this.#joined || !this.#knowsLeases) throw lost();
    };
    ensureKnown();
    return this.#lock.read(async () => {
      // It may have been given up while it waited.
      ensureKnown();
      return work();
    });
  }

  #acrossProcesses<Result>(pausesBuilds: boolean, work: () => Promise<Result>): Promise<Result> {
    const run = this.#exclusive.then(async () => {
      const id = this.#id;
      try {
        const number = await this.#takeExclusive(id, pausesBuilds);
        const isDrained = () => this.#state.processes.every(({ drained }) => drained === number);
        return await beginWithin(this.#times.drain, ({ isLate, begin }) => {
          const alone = async () => {
            await this.#until(() => isLate() || isDrained(), id);
            begin();
            return work();
          };
          return pausesBuilds ? this.#lock.exclusively(alone) : this.#lock.write(alone);
        });
      } finally {
        await this.#giveBackExclusive(id);
      }
    });
    this.#exclusive = run.catch(() => undefined);
    return run;
  }

  async #takeExclusive(id: string, pausesBuilds: boolean): Promise<number> {
    let number: number | undefined;
    while (number === undefined) {
      await this.#until(() => findLease(this.#state, 'exclusive') === undefined, id);
      number = await this.#table.take('exclusive', id, { pausesBuilds });
    }
    return number;
  }

  /** Also after a failure to take it, which may have stored it. */
  async #giveBackExclusive(id: string): Promise<void> {
    while (this.#joined && this.#id === id) {
      try {
        return await this.#table.giveBack('exclusive', id);
      } catch (error) {
        this.#options.log.warn({ err: error }, 'cannot end exclusive work; trying again');
        await setTimeout(RETRY_MS);
      }
    }
  }

  /** Resolves when a state that was read from now on meets a condition. Rejects once this process is lost. */
  async #until(condition: () => boolean, id: string): Promise<void> {
    const { begun } = this.#rounds;
    this.#waker.wake();
    for (;;) {
      if (!this.#joined || this.#id !== id) throw lost();
      if (this.#rounds.read > begun && condition()) return;
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
  }

  #notifyWatchers(): void {
    for (const watcher of this.#watchers) watcher();
    this.#watchers.clear();
  }
}

const newId = () => randomBytes(8).toString('hex');
