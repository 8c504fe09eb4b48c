import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from './requests.js';

const POLL_MS = 100;

/** Sends requests to the processes that say that they are ready, in turn, as a load balancer. It repeats none. */
export class Balancer {
  readonly #targets: readonly Target[];
  #ready = new Set<Target>();
  #turn = 0;
  #stopped = false;
  readonly #polling: Promise<void>;

  /** `readyPath` is what Kubernetes probes. */
  constructor(targets: readonly Target[], readyPath: string) {
    this.#targets = targets;
    this.#polling = this.#poll(readyPath);
  }

  /** Connections are kept for the next requests, as fetch does. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const ready = this.#targets.filter((target) => this.#ready.has(target));
    if (ready.length === 0) throw new Error('no process is ready');
    this.#turn += 1;
    return fetch(`${ready[this.#turn % ready.length]!.url}${path}`, init);
  }

  /** Resolves once all of these processes get requests. */
  async sees(...targets: Target[]): Promise<void> {
    while (!targets.every((target) => this.#ready.has(target))) await sleep(POLL_MS);
  }

  async close(): Promise<void> {
    this.#stopped = true;
    await this.#polling;
  }

  async #poll(readyPath: string): Promise<void> {
    while (!this.#stopped) {
      await Promise.all(
        this.#targets.map(async (target) => {
          // A probe has a connection of its own.
          const headers = { connection: 'close' };
          const response = await fetch(target.url + readyPath, { headers }).catch(() => undefined);
          await response?.body?.cancel();
          if (response?.status === 200) this.#ready.add(target);
          else this.#ready.delete(target);
        }),
      );
      await sleep(POLL_MS);
    }
  }
}
