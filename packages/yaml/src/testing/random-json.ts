import type { JsonValue } from '../json-value.js';
import type { Random } from './random.js';

/** A random JSON object. Keys are unique. */
export function randomJson(random: Random): Record<string, JsonValue> {
  let count = 0;
  const value = (depth: number): JsonValue => {
    const roll = random.next();
    if (depth < 5 && roll < 0.3) return object(depth + 1);
    if (depth < 5 && roll < 0.5) return Array.from({ length: random.below(4) }, () => value(depth + 1));
    return random.pick(['text', 'a "quote"', '{not: map}', '# no', '', 1, 1.5, -7, true, null, 'é\u2028']);
  };
  const object = (depth: number): Record<string, JsonValue> =>
    Object.fromEntries(Array.from({ length: random.below(4) }, () => [`k${++count}`, value(depth)]));
  return { first: 1, ...object(0) };
}

/** The value with the keys of all its objects in another order. */
export function shuffledKeys(random: Random, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => shuffledKeys(random, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    random.shuffled(Object.entries(value)).map(([key, item]) => [key, shuffledKeys(random, item)]),
  );
}
