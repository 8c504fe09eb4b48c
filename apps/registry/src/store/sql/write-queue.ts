import { setImmediate } from 'node:timers/promises';

/** A write that waits for a transaction. */
export interface PendingWrite<Given> {
  work: () => Given;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * Runs writes that arrive together in one transaction of at most `max`, one transaction after the other. `transaction`
 * returns what settles each of the writes once they are stored; if it rejects, none of them is stored.
 */
export function writeQueue<Given>(
  max: number,
  transaction: (writes: readonly PendingWrite<Given>[]) => Promise<(() => void)[]>,
): (work: () => Given) => Promise<unknown> {
  const pending: PendingWrite<Given>[] = [];
  let running = false;
  const runAll = async (): Promise<void> => {
    running = true;
    while (pending.length > 0) {
      const writes = pending.splice(0, max);
      try {
        for (const settle of await transaction(writes)) settle();
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
      await setImmediate();
    }
    running = false;
  };
  return (work) =>
    new Promise((resolve, reject) => {
      pending.push({ work, resolve, reject });
      // Callers that are ready now run first and join the transaction.
      if (!running) globalThis.setImmediate(() => running || void runAll());
    });
}
