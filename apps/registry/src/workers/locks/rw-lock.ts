/**
 * A lock for readers and writers. Bytes are stored before the rows that name them. Callers that store both hold it
 * for reading; callers that delete unused bytes hold it for writing, so that they wait until no such bytes are in
 * between.
 */
export class RwLock {
  readonly #inside = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** Do not take the lock again inside. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    while (this.#closed !== undefined) await this.#closed;
    const running = work();
    this.#inside.add(running);
    try {
      return await running;
    } finally {
      this.#inside.delete(running);
    }
  }

  /** Do not take the lock again inside. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    while (this.#closed !== undefined) await this.#closed;
    let open: () => void = () => undefined;
    this.#closed = new Promise((resolve) => {
      open = resolve;
    });
    try {
      await Promise.allSettled(this.#inside);
      return await work();
    } finally {
      this.#closed = undefined;
      open();
    }
  }
}
