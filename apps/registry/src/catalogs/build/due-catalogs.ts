import type { CatalogHead } from '@krmhub/catalog';
import { DEFAULT_CATALOG } from '../apply-recipe.js';

/** Catalogs that may lack events, and which of them go first. */
export class DueCatalogs {
  /** Names in the order in which they became due. */
  readonly #names = new Set<string>();
  readonly #awaited = new Set<string>();

  get names(): Iterable<string> {
    return this.#names;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** A catalog that is due already stays where it is. */
  add(name: string): void {
    this.#names.add(name);
  }

  delete(name: string): void {
    this.#names.delete(name);
    this.#awaited.delete(name);
  }

  /** Clients wait for these: they go first, once they are due. */
  expedite(names: readonly string[]): void {
    for (const name of names) this.#awaited.add(name);
  }

  /** Catalogs that clients wait for, or waited for since the last `endWait`. */
  get awaited(): string[] {
    return [...this.#awaited];
  }

  /** These have what clients waited for. */
  endWait(names: readonly string[]): void {
    for (const name of names) this.#awaited.delete(name);
  }

  /** Whether other catalogs wait for this one, however many they are: also if clients get no catalog meanwhile. */
  isUrgent({ name, newest }: CatalogHead): boolean {
    return name === DEFAULT_CATALOG || this.#awaited.has(name) || newest?.withdrawn !== undefined;
  }

  /**
   * Returns the catalogs in the order in which to visit them: urgent ones, the one that has been due longest, and the
   * others, small ones first. If at least one that is not urgent is built before this is asked again, each gets its
   * turn, however often others become due.
   */
  inOrder<Catalog extends CatalogHead>(catalogs: Iterable<Catalog>): Catalog[] {
    const since = new Map([...this.#names].map((name, at) => [name, at]));
    const bySize = [...catalogs].sort((a, b) => functions(a) - functions(b));
    const urgent = bySize.filter((one) => this.isUrgent(one));
    const others = bySize.filter((one) => !this.isUrgent(one));
    const oldest = [...others].sort((a, b) => since.get(a.name)! - since.get(b.name)!).slice(0, 1);
    return [...new Set([...urgent, ...oldest, ...others])];
  }
}

const functions = ({ newest }: CatalogHead) => newest?.functions ?? 0;
