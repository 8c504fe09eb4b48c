/** Fields and choices that a form makes for one action of a visitor. */
const ALLOWANCE = 500;

/** Bounds the work of a form in total: schemas have limits for each object and enum only. */
export class Budget {
  #left = ALLOWANCE;

  /** Returns whether so many more fields or choices may be made, and counts them. */
  take(count: number): boolean {
    if (count > this.#left) return false;
    this.#left -= count;
    return true;
  }

  /** What a visitor asks for is made. */
  refill(): void {
    this.#left = ALLOWANCE;
  }
}
