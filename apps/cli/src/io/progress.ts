import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { oneLine, shorten } from '@krmhub/schema/text';
import { type Io, terminalWidth, writeRaw } from './io.js';

/** A progress line on stderr that is overwritten. Prints nothing if stderr is not a terminal. */
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
    await writeRaw(
      this.#io.stderr,
      `\r\u001b[2K${shorten(oneLine(hidePasswords(line)), terminalWidth(this.#io.stderr) - 1)}`,
    );
  }

  /** Shows a line at most ten times a second. */
  async tick(line: () => string): Promise<void> {
    if (!this.#shown) return;
    const now = this.#io.now().getTime();
    if (now - this.#last < 100) return;
    this.#last = now;
    await this.show(line());
  }

  /** Call this before printing anything else. */
  async clear(): Promise<void> {
    if (this.#shown) await writeRaw(this.#io.stderr, '\r\u001b[2K');
  }
}
