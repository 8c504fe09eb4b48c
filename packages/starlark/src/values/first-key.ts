/**
 * Finds the first key of a Map in constant time, also where many keys before it were deleted: a new iterator would pass
 * over what they leave behind.
 */
export class FirstKey<Key> {
  #iterator: MapIterator<Key> | undefined;
  #found: { key: Key } | undefined;

  /** Returns the first key of the map, always the same one, or undefined if it is empty. */
  of(map: ReadonlyMap<Key, unknown>): { key: Key } | undefined {
    if (map.size === 0) return undefined;
    if (this.#found !== undefined) return this.#found;
    this.#iterator ??= map.keys();
    const { done, value } = this.#iterator.next();
    if (done) {
      // An iterator that came to the end does not see what is added later.
      this.#iterator = undefined;
      return this.of(map);
    }
    this.#found = { key: value };
    return this.#found;
  }

  /** Must be told of each key that is deleted. */
  deleted(key: Key): void {
    if (this.#found !== undefined && Object.is(this.#found.key, key)) this.#found = undefined;
  }

  /** Must be told that all keys were deleted. */
  cleared(): void {
    this.#iterator = undefined;
    this.#found = undefined;
  }
}
