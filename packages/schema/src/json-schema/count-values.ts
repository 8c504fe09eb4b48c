import type { JsonValue } from '../documents/definition.js';

/** Counts the values inside a value, up to a limit. */
export function countValues(value: JsonValue, limit: number): number {
  const rest: JsonValue[] = [value];
  let count = 0;
  for (let next = rest.pop(); next !== undefined && count < limit; next = rest.pop()) {
    count++;
    if (Array.isArray(next)) for (const item of next) rest.push(item);
    else if (typeof next === 'object' && next !== null)
      for (const item of Object.values(next)) rest.push(item);
  }
  return count;
}
