import { setImmediate } from 'node:timers/promises';

export interface WriteOptions {
  /** Changes many rows, so it shares its transaction with no other write. */
  isLarge?: boolean;
}

/** Changed functions or entries from which a write is large. */
export const LARGE_WRITE = 200;

/** A write that waits for a transaction. */
export interface PendingWrite<Given> {
  work: () => Given;
  isLarge: boolean;
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
      const large = pending.findIndex(({ isLarge }) => isLarge);
      const writes = pending.splice(0, large === -1 ? max : Math.min(Math.max(large, 1), max));
      try {
        for (const settle of await transaction(writes)) settle();
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
    }
    running = false;
  };
  return (work, { isLarge = false } = {}) =>
    new Promise((resolve, reject) => {
      pending.push({ work, isLarge, resolve, reject });
      if (!running) void runAll();
    });
}
