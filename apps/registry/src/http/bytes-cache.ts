/** Bytes by name, or what holds bytes, at most so many; what was not asked for longest goes first. */
export class BytesCache<Value extends { byteLength: number } = Uint8Array> {
  readonly #maxBytes: number;
  readonly #values = new Map<string, Value>();
  #bytes = 0;
  /** What was asked for last. */
  #newest: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): Value | undefined {
    const value = this.#values.get(name);
    if (value !== undefined && name !== this.#newest) {
      // A Map keeps the order of insertion: the newest stands last.
      this.#values.delete(name);
      this.#values.set(name, value);
      this.#newest = name;
    }
    return value;
  }

  set(name: string, value: Value): void {
    this.delete(name);
    if (value.byteLength > this.#maxBytes) return;
    this.#values.set(name, value);
    this.#newest = name;
    this.#bytes += value.byteLength;
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.delete(oldest);
    }
  }

  clear(): void {
    this.#values.clear();
    this.#newest = undefined;
    this.#bytes = 0;
  }

  delete(name: string): void {
    this.#bytes -= this.#values.get(name)?.byteLength ?? 0;
    this.#values.delete(name);
  }
}
