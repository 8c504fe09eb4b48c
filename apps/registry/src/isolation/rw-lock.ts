/**
 * Bytes are stored before the rows that name them, so that for a moment nothing names them. Who stores so shares the
 * gate for that moment; who removes bytes that nothing names takes it alone, and waits until nobody is inside.
 */
export class RwLock {
  readonly #inside = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** Work within it must not ask for the gate again. */
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

  /** Work within it must not ask for the gate again. */
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
