/**
 * Locks, queues, and turns that order the work of one process.
 *
 * Other processes of the registry do not see them. Between processes, transactions find conflicts, and `BytesLock`
 * guards stored bytes (processes/processes.ts).
 *
 * @module
 */

import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';

/**
 * Runs work with the same key one after the other, in order. Other processes can still change the same object, so
 * this only avoids conflicts within the process.
 */
export class KeyedMutex {
  readonly #lines = new Map<string, { last: Promise<unknown>; length: number }>();

  /**
   * Calls work with whether it waited. Rejects with `unavailable` if too many callers wait: each has its input in memory.
   */
  async run<T>(key: string, work: (waited: boolean) => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? { last: Promise.resolve(), length: 0 };
    // The first one runs and does not wait.
    if (line.length > SERVER_LIMITS.maxLockWaiters) {
      throw new KrmhubError('unavailable', `too many requests are waiting to change ${key}`, {
        hint: 'Try again in a few seconds.',
      });
    }
    const waited = line.length > 0;
    const start = () => work(waited);
    const running = line.last.then(start, start);
    line.last = running;
    line.length += 1;
    this.#lines.set(key, line);
    try {
      return await running;
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(key);
    }
  }
}
