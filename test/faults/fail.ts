import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Outcome } from './kill.js';
import { attachAt, type Point, pointName, waitForAsyncWork, workOf } from './points.js';
import { type ServerUnderFault, startServer } from './server.js';
import { injected } from './strace.js';
import { findDamage, lossesAfterKill, lossesOverHttp } from './verify.js';
import { type Ledger, newLedger, work } from './workload.js';

export const ERRORS = ['EIO', 'ENOSPC'] as const;

/** Faults before a server is killed and its folder replaced by a new one. */
const FAULTS_PER_SERVER = 10;

/** Injects system call errors into a running server, which must continue and lose nothing. */
export class FaultInjector {
  readonly #scratch: string;
  #data = '';
  #server: ServerUnderFault | undefined;
  #ledger: Ledger = newLedger();
  #round = 0;
  #folders = 0;

  constructor(scratch: string) {
    this.#scratch = scratch;
    mkdirSync(scratch, { recursive: true });
  }

  /** One error at a point; with `every` also at each n-th call after it, like a worn-out disk. */
  async fail(point: Point, error: (typeof ERRORS)[number], every?: number): Promise<Outcome> {
    const server = await this.#running();
    const trace = path.join(this.#scratch, 'fail.trace');
    const attached = await attachAt(point, server, {
      trace,
      fault: `error=${error}`,
      every: every === undefined ? '' : `+${every}`,
    });
    await workOf(point, server, this.#ledger, this.#round++);
    await waitForAsyncWork();
    await attached.detach();
    const losses = await this.#losses(server);
    // A loss is reported once, and its folder stays as it is.
    if (losses.length > 0) await this.#leave();
    else if (this.#round >= 2 * FAULTS_PER_SERVER) losses.push(...(await this.end()));
    return {
      fault: `${error}${every === undefined ? '' : ', repeatedly,'} at ${pointName(point)}`,
      injected: injected(trace),
      losses,
    };
  }

  async #losses(server: ServerUnderFault): Promise<string[]> {
    if (server.ended() !== undefined) {
      return [
        `the server ended with ${server.ended()}`,
        ...(await lossesAfterKill(this.#data, this.#ledger)),
      ];
    }
    const losses = await lossesOverHttp(server, this.#ledger);
    // When the disk works again, so does the registry, without a restart.
    const statuses = await work(server, this.#ledger, this.#round++);
    if (statuses.some((status) => status !== 200 && status !== 201)) {
      losses.push(`publishing after the fault gives ${statuses}`);
    }
    return [...losses, ...(await findDamage(this.#data, 'while it serves'))];
  }

  /** Kills the server: acknowledged data between faults has to be on the disk too. */
  async end(): Promise<string[]> {
    if (this.#server === undefined) return [];
    await this.#server.stop('SIGKILL');
    const losses = await lossesAfterKill(this.#data, this.#ledger);
    if (losses.length === 0) rmSync(this.#data, { recursive: true, force: true });
    await this.#leave();
    return losses.map((loss) => `after failures and a kill: ${loss}`);
  }

  async #leave(): Promise<void> {
    await this.#server?.stop('SIGKILL');
    this.#server = undefined;
  }

  async #running(): Promise<ServerUnderFault> {
    if (this.#server !== undefined) return this.#server;
    this.#data = path.join(this.#scratch, `data-${this.#folders++}`);
    this.#ledger = newLedger();
    this.#round = 0;
    this.#server = await startServer(this.#data);
    if (this.#server === undefined) throw new Error('the server does not start');
    // The first publish creates files that later ones reuse: it is not the one under test.
    await work(this.#server, this.#ledger, this.#round++);
    return this.#server;
  }
}
