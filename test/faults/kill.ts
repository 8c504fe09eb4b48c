import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { attachAt, type Point, pointName, waitForAsyncWork, workOf } from './points.js';
import { startServer } from './server.js';
import { findDamage, lossesAfterKill } from './verify.js';
import { type Ledger, newLedger, work } from './workload.js';

export interface Outcome {
  /** The injected fault and its point. */
  fault: string;
  /** Faults that were really injected: a point that a run does not reach does not count. */
  injected: number;
  losses: string[];
}

/** Rounds before a data folder is replaced by a new one, so that a check stays quick. */
const ROUNDS_PER_FOLDER = 12;

/** Kills a server at one point after the other, starts it again on the same folder, and checks for losses. */
export class Killer {
  readonly #scratch: string;
  #data = '';
  #ledger: Ledger = newLedger();
  #round = 0;
  #folders = 0;

  constructor(scratch: string) {
    this.#scratch = scratch;
    mkdirSync(scratch, { recursive: true });
  }

  async kill(point: Point): Promise<Outcome> {
    return point.phase === 'start' ? this.#killStart(point) : this.#killWork(point);
  }

  /** Where strace is missing: some time after the work began. */
  async killAfter(milliseconds: number): Promise<Outcome> {
    const server = await this.#server();
    const working = work(server, this.#ledger, this.#round++);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await server.stop('SIGKILL');
    await working;
    return this.#outcome(`kill after ${milliseconds} ms`, true);
  }

  async #killWork(point: Point): Promise<Outcome> {
    const server = await this.#server();
    const trace = path.join(this.#scratch, 'kill.trace');
    const attached = await attachAt(point, server, { trace, fault: 'signal=SIGKILL' });
    await workOf(point, server, this.#ledger, this.#round++);
    if (server.ended() === undefined) await waitForAsyncWork();
    const reached = server.ended() !== undefined;
    await attached.detach();
    await server.stop('SIGKILL');
    return this.#outcome(`kill at ${pointName(point)}`, reached);
  }

  async #killStart(point: Point): Promise<Outcome> {
    const data = path.join(this.#scratch, `start-${this.#folders++}`);
    const { call, nth } = point;
    const server = await startServer(data, [
      'strace',
      '-f',
      '-o',
      '/dev/null',
      '-e',
      `trace=${call}`,
      '-e',
      `inject=${call}:signal=SIGKILL:when=${nth}`,
    ]);
    await server?.stop('SIGKILL');
    const losses = await lossesAfterStart(data);
    if (losses.length === 0) rmSync(data, { recursive: true, force: true });
    return {
      fault: `kill at ${pointName(point)} on an empty folder`,
      injected: server === undefined ? 1 : 0,
      losses,
    };
  }

  async #server() {
    if (this.#round % ROUNDS_PER_FOLDER === 0) {
      if (this.#data !== '') rmSync(this.#data, { recursive: true, force: true });
      this.#data = path.join(this.#scratch, `data-${this.#folders++}`);
      this.#ledger = newLedger();
    }
    const server = await startServer(this.#data);
    if (server === undefined) throw new Error(`the server no longer starts on ${this.#data}`);
    return server;
  }

  async #outcome(fault: string, reached: boolean): Promise<Outcome> {
    const losses = await lossesAfterKill(this.#data, this.#ledger);
    if (losses.length > 0) {
      // A loss is reported once, and its folder stays as it is.
      this.#data = '';
      this.#round = 0;
    }
    return { fault, injected: reached ? 1 : 0, losses };
  }
}

/** A killed start must not keep the next one from completing, with an administrator. */
async function lossesAfterStart(data: string): Promise<string[]> {
  const server = await startServer(data);
  if (server === undefined) return [`the server does not start on ${data}`];
  try {
    const answer = await fetch(`${server.url}/api/v1/whoami`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    const text = await answer.text();
    const losses = answer.status === 200 ? [] : [`the admin token gets ${answer.status}: ${text}`];
    const ledger = newLedger();
    const statuses = await work(server, ledger, 0);
    if (statuses.some((status) => status !== 200 && status !== 201))
      losses.push(`publishing gives ${statuses}`);
    return [...losses, ...(await findDamage(data, 'after the start'))];
  } finally {
    await server.stop('SIGTERM');
  }
}
