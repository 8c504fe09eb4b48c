/** Sends one request and reads the response. */
export type Ask = () => Promise<Response>;

/** Milliseconds from a response to the next request. */
const PAUSE = 20;

/**
 * Sends the same requests to two registries over and over; one of them is under attack. The time of a
 * response depends on other work of the machine, so waits are counted in responses: of the calm one, until
 * the attacked one has responded.
 */
export class Pace {
  /** For each response of the attacked one, the number of responses of the calm one before it. */
  readonly #waits: number[] = [];
  #calm = 0;
  #running = true;
  #failure: unknown;
  readonly #done: Promise<unknown>;

  constructor(attacked: Ask, calm: Ask) {
    this.#done = Promise.all([
      this.#repeat(attacked, () => {
        this.#waits.push(this.#calm);
        this.#calm = 0;
      }),
      this.#repeat(calm, () => {
        this.#calm += 1;
      }),
    ]);
  }

  /** Number of responses of the attacked one. */
  get responses(): number {
    return this.#waits.length;
  }

  /**
   * The wait that this share of the responses did not exceed; throws the first response that was not a
   * success.
   */
  waitQuantile(share: number): number {
    if (this.#failure !== undefined) throw this.#failure;
    const waits = [...this.#waits, this.#calm].sort((a, b) => a - b);
    return waits[Math.floor(waits.length * share)] ?? 0;
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #repeat(ask: Ask, onAnswer: () => void): Promise<void> {
    while (this.#running) {
      try {
        const response = await ask();
        await response.arrayBuffer();
        if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
      } catch (error) {
        this.#failure ??= error;
      }
      onAnswer();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}
