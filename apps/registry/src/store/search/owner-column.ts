import type { AccessRules, FacetCount } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { NOT_VERIFIED } from '@krmhub/schema/facets';
import { type CountedColumn, type FacetColumn, insertByFrequency } from './facet-column.js';

/**
 * The facet of owners. Rules say who owns a group, so it is computed from the column of groups that releases are in,
 * and changes with the rules, whatever the index has: a change of an owner writes nothing. What only upstream catalogs
 * have is in no group here, because its owner did not publish it.
 */
export class OwnerColumn implements CountedColumn {
  readonly #groups: FacetColumn;
  readonly #rules: AccessRules;
  /** Owners by number; 0 is for functions without one. */
  readonly #owners: Pick<FacetCount, 'value' | 'text'>[] = [{ value: NOT_VERIFIED }];
  readonly #numberOf = new Map<string, number>();
  /** Numbers of owners by set number of the groups; set 0 is without a group. */
  #ownerOf = new Uint32Array(1);
  #known = 0;

  constructor(groups: FacetColumn, rules: AccessRules) {
    this.#groups = groups;
    this.#rules = rules;
    this.update();
  }

  isOf(groups: FacetColumn, rules: AccessRules): boolean {
    return groups === this.#groups && rules === this.#rules;
  }

  /** Reads the owners of new groups. Call it after every change of the groups. */
  update(): void {
    const groups = this.#groups.values();
    if (this.#ownerOf.length <= groups.length) {
      const grown = new Uint32Array(groups.length * 2 + 1);
      grown.set(this.#ownerOf);
      this.#ownerOf = grown;
    }
    // A release has one group, so each set has the group with the number before its own.
    for (let at = this.#known; at < groups.length; at += 1) this.#ownerOf[at + 1] = this.#number(groups[at]!);
    this.#known = groups.length;
  }

  #number(group: string): number {
    const owner = this.#rules.groupOwner(group);
    if (owner === undefined) return 0;
    const known = this.#numberOf.get(owner.team);
    if (known !== undefined) return known;
    const { team, displayName } = owner;
    const text = displayName === team ? undefined : displayName;
    const number = this.#owners.push({ value: team, ...defined({ text }) }) - 1;
    this.#numberOf.set(team, number);
    return number;
  }

  get numbers(): Uint32Array {
    return this.#groups.numbers;
  }

  get sets(): number {
    return this.#groups.sets;
  }

  /** Returns 1 for a function from the owner of its group, else 0. */
  isVerified(id: number): 0 | 1 {
    return this.#ownerOf[this.#groups.numbers[id]!] === 0 ? 0 : 1;
  }

  matching(values: readonly string[]): Uint8Array {
    const wanted = new Set(values.map((value) => (value === NOT_VERIFIED ? 0 : this.#numberOf.get(value))));
    const found = new Uint8Array(this.sets);
    for (let set = 0; set < found.length; set += 1) if (wanted.has(this.#ownerOf[set])) found[set] = 1;
    return found;
  }

  /** Returns the most frequent owners, and last how many functions have none. */
  mostFrequent(countOfSet: Uint32Array): FacetCount[] {
    const counts = new Uint32Array(this.#owners.length);
    for (let set = 0; set < countOfSet.length; set += 1) counts[this.#ownerOf[set]!]! += countOfSet[set]!;
    const best: FacetCount[] = [];
    for (const [number, owner] of this.#owners.entries())
      if (number > 0 && counts[number]! > 0) insertByFrequency(best, { ...owner, count: counts[number]! });
    return counts[0] === 0 ? best : [...best, { ...this.#owners[0]!, count: counts[0]! }];
  }

  mostFrequentOf(ids: Uint32Array): FacetCount[] {
    const counts = new Uint32Array(this.sets);
    for (const id of ids) counts[this.numbers[id]!]! += 1;
    return this.mostFrequent(counts);
  }
}
