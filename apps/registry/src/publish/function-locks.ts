import type { FunctionName } from '@krmhub/schema';
import type { RecheckToken } from '../http/auth/authorize.js';
import { KeyedMutex } from '../workers/locks/keyed-mutex.js';

/** Serializes the changes of a function, and those of a document of the registry, within one process. */
export class FunctionLocks {
  readonly #mutex = new KeyedMutex();

  /**
   * Waits for the lock, checks the token of the request again if others had it, and runs the work: they can change a
   * function for long. Work of the registry itself has no token.
   */
  run<Result>(
    of: FunctionName | 'policies' | 'access',
    recheck: RecheckToken | 'no token',
    work: () => Promise<Result>,
  ): Promise<Result> {
    // Functions whose kinds differ only by case are the same.
    const key = typeof of === 'string' ? of : `${of.group}/${of.kind.toLowerCase()}`;
    return this.#mutex.run(key, async (waited) => {
      if (waited && recheck !== 'no token') await recheck();
      return work();
    });
  }
}
