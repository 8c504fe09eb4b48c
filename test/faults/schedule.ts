import { setTimeout as sleep } from 'node:timers/promises';
import { randomInt, shuffled } from '../replicas/random.js';
import { FAULTS, type Fault, type FaultContext } from './several-faults.js';

/** Most faults at the same time. */
const AT_ONCE = 4;
/** Milliseconds between the starts of two faults, at most. */
const BETWEEN_MS = 1_500;

/** Kinds of faults in the order in which they begin: first each once, then as often as their parts say. */
export function faultsInOrder(count: number, random: () => number): string[] {
  const all = Object.entries(FAULTS).flatMap(([kind, { part }]) => Array<string>(part).fill(kind));
  const order = shuffled(Object.keys(FAULTS), random);
  while (order.length < count) order.push(...shuffled(all, random));
  return order.slice(0, count);
}

/**
 * Injects faults, several at the same time where they break different things. At least one process runs, except where a
 * fault breaks all. Resolves after the last one; rejects if one cannot be injected.
 */
export async function injectTogether(kinds: readonly string[], context: FaultContext): Promise<void> {
  const { cluster, random } = context;
  const waiting = [...kinds];
  const broken = new Set<unknown>();
  const running = new Set<Promise<void>>();
  const free = () => cluster.replicas.filter((replica) => !broken.has(replica));
  const number = (breaks: 1 | 2 | 'all') => (breaks === 'all' ? cluster.replicas.length : breaks);
  const fits = ({ breaks }: Fault) => {
    if (breaks === 'postgres' || breaks === 's3') return !broken.has(breaks);
    return free().length - number(breaks) >= (breaks === 'all' ? 0 : 1);
  };
  const begin = (fault: Fault): void => {
    const { breaks } = fault;
    const replicas =
      breaks === 'postgres' || breaks === 's3' ? [] : shuffled(free(), random).slice(0, number(breaks));
    const parts = replicas.length === 0 ? [breaks] : replicas;
    for (const part of parts) broken.add(part);
    const injected: Promise<void> = fault.inject(context, replicas).finally(() => {
      for (const part of parts) broken.delete(part);
      running.delete(injected);
    });
    // Rejects below.
    injected.catch(() => undefined);
    running.add(injected);
  };
  while (waiting.length > 0 || running.size > 0) {
    const next = running.size < AT_ONCE ? waiting.findIndex((kind) => fits(FAULTS[kind]!)) : -1;
    if (next < 0) {
      await Promise.race(running);
      continue;
    }
    begin(FAULTS[waiting.splice(next, 1)[0]!]!);
    await sleep(randomInt(random, BETWEEN_MS));
  }
}
