import { setImmediate } from 'node:timers/promises';

export interface WriteOptions {
  /** Changes many rows, so it shares its transaction with no other write. */
  isLarge?: boolean;
  /**
   * Name of the only function that it changes. It runs beside writes of other functions, so it reads everything first,
   * changes everything with `lastly`, and depends on no row that such a write changes.
   */
  of?: string;
  /**
   * Stores a part of what another write of the same store completes. It is durable at the latest with that one, and no
   * other write shares its transaction.
   */
  isPart?: boolean;
}

/** Changed functions or entries from which a write is large. */
export const LARGE_WRITE = 200;

/** A write that waits for a transaction. */
export interface PendingWrite<Given> {
  work: () => Given;
  isLarge: boolean;
  of: string | undefined;
  isPart: boolean;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * Runs writes that arrive together in one transaction of at most `max`, one transaction after the other, and each large
 * one in its own. Writes arrive together if each turn of the event loop brings another one, as when many publish at a
 * time: publishes are planned one per turn. `transaction` returns what settles each of the writes once they are stored;
 * if it rejects, none of them is stored.
 */
export function writeQueue<Given>(
  max: number,
  transaction: (writes: readonly PendingWrite<Given>[]) => Promise<(() => void)[]>,
): (work: () => Given, options?: WriteOptions) => Promise<unknown> {
  const pending: PendingWrite<Given>[] = [];
  let running = false;
  const gathered = async (): Promise<void> => {
    // Callers that are ready now run first.
    await setImmediate();
    for (let before = 0; pending.length > before && pending.length < max; ) {
      before = pending.length;
      await setImmediate();
    }
  };
  const runAll = async (): Promise<void> => {
    running = true;
    while (pending.length > 0) {
      await gathered();
      const writes = pending.splice(0, countTogether(pending, max));
      try {
        for (const settle of await transaction(writes)) settle();
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
    }
    running = false;
  };
  return (work, { isPart = false, isLarge = isPart, of } = {}) =>
    new Promise((resolve, reject) => {
      pending.push({ work, isLarge, isPart, of, resolve, reject });
      if (!running) void runAll();
    });
}

/** Returns how many of the first writes can share a transaction: each of another function, and a large one alone. */
function countTogether(pending: readonly PendingWrite<unknown>[], max: number): number {
  const functions = new Set<string>();
  for (const [at, { isLarge, of }] of pending.slice(0, max).entries()) {
    if (isLarge || (of !== undefined && functions.has(of))) return Math.max(at, 1);
    if (of !== undefined) functions.add(of);
  }
  return max;
}
