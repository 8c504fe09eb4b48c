import { KrmhubError } from '@krmhub/schema';
import type { CatalogRefresher } from './catalog-refresher.js';

/** The refresher of a process: there is one while the process leads. */
export class LedRefresher implements CatalogRefresher {
  readonly #make: () => CatalogRefresher;
  #refresher: CatalogRefresher | undefined;

  constructor(make: () => CatalogRefresher) {
    this.#make = make;
  }

  lead(): void {
    this.#refresher = this.#make();
  }

  wake(): void {
    this.#refresher?.wake();
  }

  async refreshNow(catalog: string, source: string): Promise<void> {
    await this.#led().refreshNow(catalog, source);
  }

  async waitFor(catalog: string, milliseconds: number): Promise<boolean> {
    return this.#led().waitFor(catalog, milliseconds);
  }

  async stop(): Promise<void> {
    await this.#refresher?.stop();
  }

  /** Ends syncs, until the process leads again. */
  async follow(): Promise<void> {
    await this.stop();
    this.#refresher = undefined;
  }

  #led(): CatalogRefresher {
    if (this.#refresher !== undefined) return this.#refresher;
    throw new KrmhubError('unavailable', 'another process syncs the sources of this registry', {
      hint: 'Try again in a few seconds.',
    });
  }
}
