import type { Recorded } from './history.js';

export interface Change {
  /** Those that may have made it. */
  attempts: readonly Recorded[];
  acknowledged: readonly Recorded[];
  seen: readonly Recorded[];
  missed: readonly Recorded[];
}

/** Whether there is a moment at which a change that happens at most once can have happened. */
export function checkOnce(what: string, { attempts, acknowledged, seen, missed }: Change): string[] {
  const upper = firstReturned([...acknowledged, ...seen]);
  if (upper === undefined) return [];
  const [first] = [...attempts].sort((a, b) => a.called - b.called);
  if (first === undefined) return [`${what}, and nobody did it: ${told([upper])}`];
  if (first.called > upper.returned) return [`${what} before anybody did it: ${told([upper, first])}`];
  const late = missed.filter((one) => one.called > upper.returned).sort((a, b) => a.called - b.called)[0];
  return late === undefined ? [] : [`${what}, and later it was not: ${told([upper, late])}`];
}

export function firstReturned<One extends Recorded>(operations: readonly One[]): One | undefined {
  return [...operations].sort((a, b) => a.returned - b.returned)[0];
}

export function grouped<One, Key>(
  all: readonly One[],
  keyOf: (one: One) => Key | undefined,
): [Key, [One, ...One[]]][] {
  const groups = new Map<Key, [One, ...One[]]>();
  for (const one of all) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups];
}

/** The first operations, one after the other. */
export function told(operations: readonly Recorded[]): string {
  return [...operations]
    .sort((a, b) => a.called - b.called)
    .slice(0, 6)
    .map((one) => {
      const { process, called, returned, do: name, ...rest } = one;
      return `[${called}..${returned}] ${process} ${name} ${JSON.stringify(rest)}`;
    })
    .join('; ');
}
