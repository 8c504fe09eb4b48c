import { SERVER_LIMITS } from '../../limits.js';

/** Functions that one build includes without a rest after it: nobody publishes faster than that. */
const FEW_FUNCTIONS = 3;

/**
 * Rests after builds that include many publishes. They leave the processor to requests; what comes meanwhile shares the
 * next snapshot.
 */
export class Rests {
  readonly #running = new Set<() => void>();
  /** Whether a caller has waited for a snapshot since the last pass began, and the last large build. */
  #urgent = { pass: false, large: false };

  /** A build begins. Until its rest, a caller can still be in a hurry. */
  begin(what: 'pass' | 'large'): void {
    this.#urgent[what] = false;
  }

  /** A caller waits: no rest now, and none after the builds that run. */
  end(): void {
    this.#urgent = { pass: true, large: true };
    for (const end of this.#running) end();
  }

  /** Rests after a build that took so long, and included changes of so many functions. */
  async after(what: 'pass' | 'large', busyMilliseconds: number, functions: number): Promise<void> {
    if (this.#urgent[what] || functions <= FEW_FUNCTIONS) return;
    const { buildRestFactor, maxBuildRestMilliseconds } = SERVER_LIMITS;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#running.delete(end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(busyMilliseconds * buildRestFactor, maxBuildRestMilliseconds));
      this.#running.add(end);
    });
  }
}
