import { field, scalarText } from '../nodes/fields.js';
import type { ResourceNode } from '../nodes/node.js';
import { type Meanings, ownEntries, resolved } from './equal-value.js';

/** An item is compared field by field with so many before and behind its place. */
const NEAR = 8;

/**
 * Finds for each item after a change the item before it, or -1: equal ones first, then those with the same key, then
 * those in the same place between them.
 */
export function alignItems(
  meanings: Meanings,
  before: readonly ResourceNode[],
  after: readonly ResourceNode[],
  keys: readonly string[] | undefined,
): number[] {
  const found = new Array<number>(after.length).fill(-1);
  const used = new Array<boolean>(before.length).fill(false);
  const pair = (from: number, to: number): void => {
    found[to] = from;
    used[from] = true;
  };
  let start = 0;
  while (start < before.length && start < after.length && meanings.equal(before[start]!, after[start]!)) {
    pair(start, start);
    start++;
  }
  let ends = 0;
  while (
    ends < Math.min(before.length, after.length) - start &&
    meanings.equal(before[before.length - 1 - ends]!, after[after.length - 1 - ends]!)
  ) {
    pair(before.length - 1 - ends, after.length - 1 - ends);
    ends++;
  }
  const middle = { start, before: before.length - ends, after: after.length - ends };
  if (middle.before === start || middle.after === start) return found;
  matchBy((item) => meanings.meaning(item));
  matchBy((item) => identity(item, keys));
  matchByPlace();
  return found;

  /** Each takes the next one that is free behind the one before it, else the first that is free. */
  function matchBy(keyOf: (item: ResourceNode) => unknown): void {
    const places = new Map<unknown, number[]>();
    for (let i = middle.start; i < middle.before; i++) {
      if (used[i]) continue;
      const key = keyOf(before[i]!);
      if (key === undefined) continue;
      const list = places.get(key);
      if (list === undefined) places.set(key, [i]);
      else list.push(i);
    }
    const next = new Map<unknown, number>();
    const free = new Map<unknown, number>();
    let last = middle.start - 1;
    for (let i = middle.start; i < middle.after; i++) {
      if (found[i] !== -1) {
        last = found[i]!;
        continue;
      }
      const key = keyOf(after[i]!);
      const list = key === undefined ? undefined : places.get(key);
      if (list === undefined) continue;
      let at = next.get(key) ?? 0;
      while (at < list.length && (used[list[at]!] || list[at]! < last)) at++;
      next.set(key, at);
      if (at === list.length) {
        at = free.get(key) ?? 0;
        while (at < list.length && used[list[at]!]) at++;
        free.set(key, at);
        if (at === list.length) continue;
      }
      pair(list[at]!, i);
      last = list[at]!;
    }
  }

  function matchByPlace(): void {
    let from = middle.start;
    for (let i = middle.start; i < middle.after; ) {
      if (found[i] !== -1) {
        from = found[i]! + 1;
        i++;
        continue;
      }
      const gapAfter: number[] = [];
      for (; i < middle.after && found[i] === -1; i++) gapAfter.push(i);
      const gapBefore: number[] = [];
      while (from < middle.before && !used[from]) gapBefore.push(from++);
      gapAfter.forEach((to, k) => {
        const near = [gapBefore[k], ...gapBefore.slice(Math.max(0, k - NEAR), k + NEAR)];
        const match = near.find(
          (one) => one !== undefined && !used[one] && isSimilar(before[one]!, after[to]!),
        );
        if (match !== undefined) pair(match, to);
      });
      const olds = gapBefore.filter((one) => !used[one]);
      const news = gapAfter.filter((one) => found[one] === -1);
      if (olds.length !== news.length) continue;
      news.forEach((to, k) => {
        if (canReplace(resolved(before[olds[k]!]!), resolved(after[to]!))) pair(olds[k]!, to);
      });
    }
  }

  /** Whether two lists or maps have at least half of their content in common. */
  function isSimilar(old: ResourceNode, item: ResourceNode): boolean {
    const from = resolved(old);
    const to = resolved(item);
    if (from.kind !== to.kind || from.kind === 'scalar') return false;
    if (from.kind === 'list') {
      const known = new Set(from.content.map((one) => meanings.meaning(one)));
      return to.content.some((one) => one.content.length > 0 || known.has(meanings.meaning(one)));
    }
    const keyed = isKeyed(from) || isKeyed(to);
    const values = new Map(ownEntries(from).map(({ name, value }) => [name, value]));
    const entries = ownEntries(to);
    const same = entries.filter(({ name, value }) => {
      const other = values.get(name);
      if (other === undefined) return false;
      return (
        meanings.equal(other, value) || (!keyed && other.kind === value.kind && value.content.length > 0)
      );
    });
    return same.length > 0 && same.length * 2 >= Math.max(values.size, entries.length);
  }

  /** Whether an item in the same place is another version of one before it. */
  function canReplace(from: ResourceNode, to: ResourceNode): boolean {
    return from.kind === to.kind && !(isKeyed(from) || isKeyed(to));
  }

  function isKeyed(item: ResourceNode): boolean {
    return identity(item, keys) !== undefined;
  }
}

/** The values of the keys by which items are matched. */
function identity(item: ResourceNode, keys: readonly string[] | undefined): string | undefined {
  const node = resolved(item);
  if (node.kind !== 'map') return undefined;
  const values = (keys ?? ['name']).map((key) => scalarText(field(node, key)));
  return values[0] === undefined ? undefined : JSON.stringify(values);
}

/** The values of a longest increasing subsequence. */
export function longestIncreasing(values: readonly number[]): Set<number> {
  const tails: number[] = [];
  const previous = new Map<number, number | undefined>();
  for (const value of values) {
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (tails[mid]! < value) low = mid + 1;
      else high = mid;
    }
    previous.set(value, tails[low - 1]);
    tails[low] = value;
  }
  const found = new Set<number>();
  for (let value = tails.at(-1); value !== undefined; value = previous.get(value)) found.add(value);
  return found;
}
