import { columnsOf, type Io, write } from './io.js';
import { oneLine, shorten } from './text.js';

/** One line on stderr that is written over, at a terminal; nothing elsewhere. */
export class Progress {
  readonly #io: Io;
  readonly #shown: boolean;
  #last = Number.NEGATIVE_INFINITY;

  constructor(io: Io) {
    this.#io = io;
    const { TERM } = io.env;
    this.#shown = io.stderr.isTTY === true && TERM !== 'dumb';
  }

  async show(line: string): Promise<void> {
    if (!this.#shown) return;
    await write(this.#io.stderr, `\r\u001b[2K${shorten(oneLine(line), columnsOf(this.#io.stderr) - 1)}`);
  }

  /** For what is said very often: at most ten times a second. */
  async tick(line: () => string): Promise<void> {
    if (!this.#shown) return;
    const now = this.#io.now().getTime();
    if (now - this.#last < 100) return;
    this.#last = now;
    await this.show(line());
  }

  /** To be called before anything else is printed. */
  async clear(): Promise<void> {
    if (this.#shown) await write(this.#io.stderr, '\r\u001b[2K');
  }
}
