import type { Position } from '../values/position.js';

/** The text of a program, and where its lines start. */
export class Source {
  #lineStarts: number[] | undefined;

  /** `file` is for messages only; nothing is read. */
  constructor(
    readonly file: string,
    readonly text: string,
  ) {}

  /** Returns the position of an offset in UTF-16 code units. */
  positionAt(offset: number): Position {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    const column = [...this.text.slice(starts[low]!, offset)].length + 1;
    return { file: this.file, line: low + 1, column };
  }

  /** Returns the text of a line, without line end. */
  line(number: number): string | undefined {
    const starts = this.#starts();
    const start = starts[number - 1];
    if (start === undefined) return undefined;
    return this.text.slice(start, starts[number] ?? this.text.length).replace(/\r?\n$/, '');
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
}
