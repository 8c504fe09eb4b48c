/** Bytes by name, at most so many of them; what was not asked for longest goes first. */
export class FormCache {
  readonly #maxBytes: number;
  readonly #forms = new Map<string, Uint8Array>();
  #bytes = 0;
  /** What was asked for last. */
  #newest: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): Uint8Array | undefined {
    const bytes = this.#forms.get(name);
    if (bytes !== undefined && name !== this.#newest) {
      // A Map keeps the order of insertion: the newest stands last.
      this.#forms.delete(name);
      this.#forms.set(name, bytes);
      this.#newest = name;
    }
    return bytes;
  }

  set(name: string, bytes: Uint8Array): void {
    this.delete(name);
    if (bytes.byteLength > this.#maxBytes) return;
    this.#forms.set(name, bytes);
    this.#newest = name;
    this.#bytes += bytes.byteLength;
    for (const oldest of this.#forms.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.delete(oldest);
    }
  }

  clear(): void {
    this.#forms.clear();
    this.#newest = undefined;
    this.#bytes = 0;
  }

  delete(name: string): void {
    this.#bytes -= this.#forms.get(name)?.byteLength ?? 0;
    this.#forms.delete(name);
  }
}
