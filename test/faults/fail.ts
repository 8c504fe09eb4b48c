import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Outcome } from './kill.js';
import { type Point, placeName } from './points.js';
import { type ServerUnderFault, startServer, threadsOf } from './server.js';
import { attach, injected } from './strace.js';
import { damageIn, lossesAfterKill, lossesOverHttp } from './verify.js';
import { type Ledger, newLedger, work } from './workload.js';

export const ERRORS = ['EIO', 'ENOSPC'] as const;

/** Faults before a server is killed and its folder given up for a new one. */
const ROUNDS_PER_SERVER = 10;

/** Lets system calls of a running server fail; it goes on, and loses nothing. */
export class Saboteur {
  readonly #scratch: string;
  #data = '';
  #server: ServerUnderFault | undefined;
  #ledger: Ledger = newLedger();
  #round = 0;

  constructor(scratch: string) {
    this.#scratch = scratch;
    mkdirSync(scratch, { recursive: true });
  }

  async fail(point: Point, error: (typeof ERRORS)[number]): Promise<Outcome> {
    const server = await this.#running();
    const { call, nth, phase } = point;
    const trace = path.join(this.#scratch, 'fail.trace');
    const attached = await attach(threadsOf(server.pid)[phase === 'main' ? 'main' : 'pool'], trace, [
      '-e',
      `trace=${call}`,
      '-e',
      `inject=${call}:error=${error}:when=${nth}`,
    ]);
    await work(server, this.#ledger, this.#round++);
    await attached.detach();
    const fault = `${error} at ${placeName(point)}`;
    if (server.ended() !== undefined) {
      const losses = [
        `the server ended with ${server.ended()}`,
        ...(await lossesAfterKill(this.#data, this.#ledger)),
      ];
      this.#server = undefined;
      return { fault, injected: injected(trace), losses };
    }
    const losses = await lossesOverHttp(server, this.#ledger);
    // With a disk that works again, so does the registry, without a restart.
    const statuses = await work(server, this.#ledger, this.#round++);
    if (statuses.some((status) => status !== 200 && status !== 201)) {
      losses.push(`publishing after the fault gives ${statuses}`);
    }
    return {
      fault,
      injected: injected(trace),
      losses: [...losses, ...(await damageIn(this.#data, 'while it serves'))],
    };
  }

  /** Ends the server by a kill: what it acknowledged between faults has to be on the disk too. */
  async end(): Promise<string[]> {
    if (this.#server === undefined) return [];
    await this.#server.stop('SIGKILL');
    this.#server = undefined;
    return lossesAfterKill(this.#data, this.#ledger);
  }

  async #running(): Promise<ServerUnderFault> {
    if (this.#server !== undefined && this.#round % (2 * ROUNDS_PER_SERVER) !== 0) return this.#server;
    const losses = await this.end();
    if (losses.length > 0) throw new Error(`lost after failures and a kill: ${losses.join('; ')}`);
    if (this.#data !== '') rmSync(this.#data, { recursive: true, force: true });
    this.#data = path.join(this.#scratch, `data-${this.#round}`);
    this.#ledger = newLedger();
    this.#server = await startServer(this.#data);
    if (this.#server === undefined) throw new Error('the server does not start');
    // The first publish makes what later ones find: it is not what is looked at.
    await work(this.#server, this.#ledger, this.#round++);
    this.#round += 1;
    return this.#server;
  }
}
