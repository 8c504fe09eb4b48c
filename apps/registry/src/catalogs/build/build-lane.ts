/** A catalog that waits for its build. */
export interface WaitingBuild {
  name: string;
  /** The event that its build reaches at least. */
  through: number;
  /** Functions of its newest snapshot. */
  functions: number;
  /** Whether it goes before others. */
  isUrgent: boolean;
  /** Functions that its build is for. */
  changed: number;
}

/** Returns builds in the order in which a lane does them. */
export function urgentFirst(builds: readonly WaitingBuild[]): WaitingBuild[] {
  return [...builds].sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent) || a.functions - b.functions);
}

/**
 * Builds catalogs beside other lanes. What waits together is a batch; what comes meanwhile belongs to the next one, so
 * that each is built, however many others come.
 */
export class BuildLane {
  readonly #waiting = new Map<string, WaitingBuild>();
  readonly #build: (batch: readonly WaitingBuild[]) => Promise<void>;
  #running: Promise<void> | undefined;
  #stopped = false;

  /**
   * `build` gets those that have waited longest first, and calls `done` for each that need not be built again, at least
   * for the first one. It never rejects.
   */
  constructor(build: (batch: readonly WaitingBuild[]) => Promise<void>) {
    this.#build = build;
  }

  /** The catalogs that wait or are being built. */
  get names(): Iterable<string> {
    return this.#waiting.keys();
  }

  has(name: string): boolean {
    return this.#waiting.has(name);
  }

  add(build: WaitingBuild): void {
    this.#waiting.set(build.name, build);
    if (!this.#stopped) this.#running ??= this.#run();
  }

  done(name: string): void {
    this.#waiting.delete(name);
  }

  /** Resolves when nothing runs. Nothing begins any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Others that are due now belong to the first batch.
    await Promise.resolve();
    while (this.#waiting.size > 0 && !this.#stopped) await this.#build([...this.#waiting.values()]);
    this.#running = undefined;
  }
}
