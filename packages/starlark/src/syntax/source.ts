import type { Position } from '../values/position.js';

/** The text of a program, and where its lines start. */
export class Source {
  #lineStarts: number[] | undefined;
  #pairs: number[] | undefined;

  /** `file` is for messages only; nothing is read. */
  constructor(
    readonly file: string,
    readonly text: string,
  ) {}

  /** Returns the position of an offset in UTF-16 code units. */
  positionAt(offset: number): Position {
    const starts = this.#starts();
    const line = countUpTo(starts, offset);
    const start = starts[line - 1]!;
    // Lines can be as long as the file, so the characters before the offset are not counted one by one.
    const pairs = this.#surrogatePairs();
    const inLine = countUpTo(pairs, offset - 1) - countUpTo(pairs, start - 1);
    return { file: this.file, line, column: offset - start - inLine + 1 };
  }

  /** Returns the text of a line, without line end. */
  line(number: number): string | undefined {
    const starts = this.#starts();
    const start = starts[number - 1];
    if (start === undefined) return undefined;
    const next = starts[number];
    if (next === undefined) return this.text.slice(start);
    const end = next - 1;
    return this.text.slice(start, end > start && this.text[end - 1] === '\r' ? end - 1 : end);
  }

  #starts(): number[] {
    if (this.#lineStarts === undefined) {
      this.#lineStarts = [0];
      for (let i = this.text.indexOf('\n'); i >= 0; i = this.text.indexOf('\n', i + 1)) {
        this.#lineStarts.push(i + 1);
      }
    }
    return this.#lineStarts;
  }

  /** Returns the offsets of the second halves of surrogate pairs. */
  #surrogatePairs(): number[] {
    if (this.#pairs === undefined) {
      this.#pairs = [];
      for (const { index } of this.text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g))
        this.#pairs.push(index + 1);
    }
    return this.#pairs;
  }
}

/** Returns how many of the ascending numbers are at most `limit`. */
function countUpTo(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
