import { field, scalarText } from '../nodes/fields.js';
import type { ResourceNode } from '../nodes/node.js';
import { type Meanings, ownEntries, resolved } from './equal-value.js';

/** Items that are compared with each other, field by field; of more, those in the same place. */
const MAX_COMPARED = 1_024;
/** Levels below an item that are compared. */
const MAX_LEVELS = 4;
/** What two items have at least in common if one is a version of the other. */
const MIN_LIKENESS = 0.3;

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

  /** Each takes the first one with its key that is free. */
  function matchBy(keyOf: (item: ResourceNode) => unknown): void {
    const places = new Map<unknown, number[]>();
    for (let i = middle.before - 1; i >= middle.start; i--) {
      if (used[i]) continue;
      const key = keyOf(before[i]!);
      const list = places.get(key);
      if (list !== undefined) list.push(i);
      else if (key !== undefined) places.set(key, [i]);
    }
    for (let i = middle.start; i < middle.after; i++) {
      const match = found[i] === -1 ? places.get(keyOf(after[i]!))?.pop() : undefined;
      if (match !== undefined) pair(match, i);
    }
  }

  function matchByPlace(): void {
    for (const { olds, news } of gaps()) {
      const pairs = alignSimilar(olds.length, news.length, (old, item) =>
        likeness(before[olds[old]!]!, after[news[item]!]!),
      );
      for (const [old, item] of pairs) pair(olds[old]!, news[item]!);
    }
    for (const { olds, news } of gaps()) {
      if (olds.length !== news.length) continue;
      news.forEach((to, k) => {
        if (canReplace(resolved(before[olds[k]!]!), resolved(after[to]!))) pair(olds[k]!, to);
      });
    }
  }

  /** The items that are not matched yet, between those that are. */
  function gaps(): { olds: number[]; news: number[] }[] {
    const all: { olds: number[]; news: number[] }[] = [];
    let from = middle.start;
    for (let i = middle.start; i < middle.after; ) {
      if (found[i] !== -1) {
        from = found[i]! + 1;
        i++;
        continue;
      }
      const gap = { olds: [] as number[], news: [] as number[] };
      for (; i < middle.after && found[i] === -1; i++) gap.news.push(i);
      while (from < middle.before && !used[from]) gap.olds.push(from++);
      if (gap.olds.length > 0) all.push(gap);
    }
    return all;
  }

  /** How much two items have in common, from 0 to 1; 0 for those that are no versions of one. */
  function likeness(old: ResourceNode, item: ResourceNode): number {
    const from = resolved(old);
    const to = resolved(item);
    if (from.kind !== to.kind || from.kind === 'scalar') return 0;
    const common = inCommon(from, to, MAX_LEVELS);
    return common >= (isKeyed(from) || isKeyed(to) ? 0.5 : MIN_LIKENESS) ? common : 0;
  }

  function inCommon(old: ResourceNode, item: ResourceNode, levels: number): number {
    const from = resolved(old);
    const to = resolved(item);
    if (meanings.equal(from, to)) return 1;
    if (from.kind !== to.kind || from.kind === 'scalar' || levels === 0) return 0;
    const most = Math.max(from.content.length, to.content.length);
    if (from.kind === 'list') {
      const known = new Set(from.content.map((one) => meanings.meaning(one)));
      return to.content.filter((one) => known.has(meanings.meaning(one))).length / most;
    }
    const values = new Map(ownEntries(from).map(({ name, value }) => [name, value]));
    let sum = 0;
    for (const { name, value } of ownEntries(to)) {
      const other = values.get(name);
      if (other !== undefined) sum += inCommon(other, value, levels - 1);
    }
    return (2 * sum) / most;
  }

  /** Whether an item in the same place is another version of one before it. */
  function canReplace(from: ResourceNode, to: ResourceNode): boolean {
    return from.kind === to.kind && !(isKeyed(from) || isKeyed(to));
  }

  function isKeyed(item: ResourceNode): boolean {
    return identity(item, keys) !== undefined;
  }
}

/** The pairs, in the order of both, that have most in common together. */
function alignSimilar(
  olds: number,
  news: number,
  likeness: (old: number, item: number) => number,
): [old: number, item: number][] {
  if (olds * news > MAX_COMPARED) {
    const places = Array.from({ length: Math.min(olds, news) }, (_, at): [number, number] => [at, at]);
    return places.filter(([old, item]) => likeness(old, item) > 0);
  }
  const best = Array.from({ length: olds + 1 }, () => new Array<number>(news + 1).fill(0));
  const scores = Array.from({ length: olds }, (_, old) =>
    Array.from({ length: news }, (_unused, item) => likeness(old, item)),
  );
  for (let old = olds - 1; old >= 0; old--) {
    for (let item = news - 1; item >= 0; item--) {
      best[old]![item] = Math.max(
        best[old + 1]![item]!,
        best[old]![item + 1]!,
        scores[old]![item]! + best[old + 1]![item + 1]!,
      );
    }
  }
  const pairs: [number, number][] = [];
  for (let old = 0, item = 0; old < olds && item < news; ) {
    const score = scores[old]![item]!;
    if (score > 0 && best[old]![item] === score + best[old + 1]![item + 1]!) pairs.push([old++, item++]);
    else if (best[old]![item] === best[old + 1]![item]) old++;
    else item++;
  }
  return pairs;
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
