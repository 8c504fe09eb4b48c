import type { FunctionRecord } from '@krmhub/catalog';
import { seenFunctions } from './seen-replacements.js';
import type { Sight } from './sight.js';

/** Reads of what has a name, which hide it from the actor of a request. */

/** Nothing has this name. What is hidden is read under it, which takes as long as reading what does not exist. */
export const NO_NAME = '-';

export function ofFunction<Value>(hidden: Value) {
  return <Rest extends unknown[], Found>(
    call: (group: string, kind: string, ...rest: Rest) => Promise<Found>,
    sight: () => Sight,
  ) =>
    (group: string, kind: string, ...rest: Rest): Promise<Found | Value> =>
      sight().function({ group, kind })
        ? call(group, kind, ...rest)
        : call(group, NO_NAME, ...rest).then(() => hidden);
}

export function ofCatalog<Value>(hidden: Value) {
  return byName(hidden, (sight, name) => sight.catalog(name));
}

export function ofRepository<Value>(hidden: Value) {
  return byName(hidden, (sight, name) => sight.repository(name));
}

function byName<Value>(hidden: Value, sees: (sight: Sight, name: string) => boolean) {
  return <Rest extends unknown[], Found>(
    call: (name: string, ...rest: Rest) => Promise<Found>,
    sight: () => Sight,
  ) =>
    (name: string, ...rest: Rest): Promise<Found | Value> =>
      sees(sight(), name) ? call(name, ...rest) : call(NO_NAME, ...rest).then(() => hidden);
}

export async function* seenAllFunctions(
  functions: AsyncIterable<FunctionRecord>,
  store: Parameters<typeof seenFunctions>[0],
  sight: Sight,
): AsyncIterable<FunctionRecord> {
  for await (const one of functions) if (sight.function(one)) yield* await seenFunctions(store, [one], sight);
}

export async function* filtered<Item>(
  items: AsyncIterable<Item>,
  sees: (item: Item) => boolean,
): AsyncIterable<Item> {
  for await (const item of items) if (sees(item)) yield item;
}

export async function* nothing(): AsyncIterable<never> {}
