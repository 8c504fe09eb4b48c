import { RwLock } from '../locks/rw-lock.js';
import type { BytesLock, Pausable } from './processes.js';

/** The lock of the bytes that this process stores. */
export class LocalLock implements BytesLock {
  readonly #lock = new RwLock();
  #builder: Pausable | undefined;

  pauses(builder: Pausable): void {
    this.#builder = builder;
  }

  read<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lock.read(work);
  }

  write<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lock.write(work);
  }

  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lock.write(async () => {
      await this.#builder?.pause();
      try {
        return await work();
      } finally {
        this.#builder?.resume();
      }
    });
  }
}
