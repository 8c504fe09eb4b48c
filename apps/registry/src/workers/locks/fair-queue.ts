import { KrmhubError } from '@krmhub/schema';

interface Waiting {
  start(): void;
  refuse(error: KrmhubError): void;
}

/**
 * Runs work for clients, a few pieces at once, and lets the clients take turns: one that asks for much delays itself
 * and hardly any other. If too much waits, the newest work of the client with the most is refused with `unavailable`.
 */
export class FairQueue {
  readonly #atOnce: number;
  readonly #maxWaiting: number;
  /** By client; the first one is next. */
  readonly #lines = new Map<string, Waiting[]>();
  #running = 0;
  #waiting = 0;

  constructor({ atOnce, maxWaiting }: { atOnce: number; maxWaiting: number }) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  async run<Result>(client: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnce) await this.#turn(client);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      // The next one takes the place.
      if (!this.#startNext()) this.#running -= 1;
    }
  }

  #turn(client: string): Promise<void> {
    return new Promise((start, refuse) => {
      const line = this.#lines.get(client) ?? [];
      line.push({ start, refuse });
      this.#lines.set(client, line);
      this.#waiting += 1;
      if (this.#waiting > this.#maxWaiting) this.#refuseOne();
    });
  }

  #startNext(): boolean {
    const [next] = this.#lines;
    if (next === undefined) return false;
    const [client, line] = next;
    const { start } = line.shift()!;
    this.#waiting -= 1;
    // The client goes to the end.
    this.#lines.delete(client);
    if (line.length > 0) this.#lines.set(client, line);
    start();
    return true;
  }

  #refuseOne(): void {
    const [first, ...others] = this.#lines;
    const [client, line] = others.reduce(
      (most, one) => (one[1].length > most[1].length ? one : most),
      first!,
    );
    const { refuse } = line.pop()!;
    this.#waiting -= 1;
    if (line.length === 0) this.#lines.delete(client);
    refuse(
      new KrmhubError('unavailable', 'too many requests are waiting for the same work', {
        hint: 'Try again in a moment.',
      }),
    );
  }
}
