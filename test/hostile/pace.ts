/** Asks something once, and reads the answer. */
export type Ask = () => Promise<Response>;

/** Milliseconds from an answer to the next question. */
const PAUSE = 20;

/**
 * Asks two registries the same over and over, of which one is attacked. How long an answer takes depends on what else
 * the machine does, so waits are counted in answers: of the calm one, until the attacked one has answered.
 */
export class Pace {
  /** For each answer of the attacked one, how many of the calm one came before it. */
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

  /** How many answers the attacked one gave. */
  get answers(): number {
    return this.#waits.length;
  }

  /** The wait that this share of the answers did not exceed; throws the first answer that was no success. */
  waitOf(share: number): number {
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
