import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';

/** The builder of a process: there is one while the process leads. */
export class LedBuilder implements CatalogBuilder {
  readonly #make: () => CatalogBuilder;
  #builder: CatalogBuilder | undefined;
  #paused: Promise<void> | undefined;
  #resume: () => void = () => undefined;

  constructor(make: () => CatalogBuilder) {
    this.#make = make;
  }

  /** Begins to build, after a pause. */
  async lead(): Promise<void> {
    while (this.#paused !== undefined) await this.#paused;
    this.#builder = this.#make();
  }

  wake(): void {
    this.#builder?.wake();
  }

  async waitFor(
    event: number,
    milliseconds: number = SERVER_LIMITS.waitMilliseconds,
    catalogs?: readonly string[],
  ): Promise<boolean> {
    return (await this.#builder?.waitFor(event, milliseconds, catalogs)) ?? false;
  }

  async buildNow(name: string): Promise<void> {
    if (this.#builder === undefined) {
      throw new KrmhubError('unavailable', 'another process builds the catalogs of this registry', {
        hint: 'Try again in a few seconds.',
      });
    }
    await this.#builder.buildNow(name);
  }

  status(): BuilderStatus {
    return this.#builder?.status() ?? { caughtUp: false, failing: [] };
  }

  async pause(): Promise<void> {
    this.#paused = new Promise((resolve) => {
      this.#resume = () => {
        this.#paused = undefined;
        resolve();
      };
    });
    try {
      await this.#builder?.pause();
    } catch (error) {
      this.#resume();
      throw error;
    }
  }

  resume(): void {
    this.#resume();
    this.#builder?.resume();
  }

  async stop(): Promise<void> {
    await this.#builder?.stop();
  }

  /** Ends building, until the process leads again. */
  async follow(): Promise<void> {
    await this.stop();
    this.#builder = undefined;
  }
}
