import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';

/**
 * Work on the same thing one after the other, in the order in which it came. Other processes may change
 * the thing meanwhile, so this only spares planning what somebody next door is about to change.
 */
export class KeyedMutex {
  readonly #lines = new Map<string, { last: Promise<unknown>; length: number }>();

  /** Rejects with `unavailable` where too many wait: each holds what it works on in memory. */
  async run<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(thing) ?? { last: Promise.resolve(), length: 0 };
    // The first is at work, and waits for nobody.
    if (line.length > SERVER_LIMITS.maxLockWaiters) {
      throw new KrmhubError('unavailable', `too many requests are waiting to change ${thing}`, {
        hint: 'Try again in a moment.',
      });
    }
    const mine = line.last.then(work, work);
    line.last = mine;
    line.length += 1;
    this.#lines.set(thing, line);
    try {
      return await mine;
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(thing);
    }
  }
}
