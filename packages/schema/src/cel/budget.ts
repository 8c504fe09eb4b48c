import type { CelList, CelMap, CelValue } from '@bufbuild/cel';
import { loadCel } from '../libraries/lazy-libraries.js';

/** Maximum cost of the expressions that share a budget. A million takes about a second. */
export const MAX_CEL_COST = 1_000_000;
/** How many characters or bytes cost as much as one value. */
const CHARACTERS_PER_VALUE = 16;

/** What expressions may still cost. One unit is about a step of a loop, or reading one value. */
export class CelBudget {
  #rest: number;

  constructor(cost = MAX_CEL_COST) {
    this.#rest = cost;
  }

  get exhausted(): boolean {
    return this.#rest < 0;
  }

  /** Throws if the budget is used up. Every later call throws too, so that no loop continues. */
  charge(cost: number): void {
    this.#rest -= cost;
    if (this.#rest < 0) throw new Error('the expression costs too much');
  }

  /** Charges for each value inside a value, because functions such as `==` can visit all of them. */
  chargeValue(value: CelValue): void {
    const rest: CelValue[] = [value];
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      this.charge(1);
      if (typeof next === 'string') this.chargeText(next.length);
      else if (next instanceof Uint8Array) this.chargeText(next.length);
      else if (isList(next)) for (const item of next) rest.push(item);
      else if (isMap(next)) for (const item of next.values()) rest.push(item);
    }
  }

  chargeText(length: number): void {
    this.charge(Math.floor(length / CHARACTERS_PER_VALUE));
  }
}

function isList(value: CelValue): value is CelList {
  return loadCel().isCelList(value);
}

function isMap(value: CelValue): value is CelMap {
  return loadCel().isCelMap(value);
}
