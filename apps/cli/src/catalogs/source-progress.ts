import type { KrmhubError } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, paint, terminalWidth } from '../io/io.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { wrapText } from '../io/wrap-text.js';

/**
 * Progress of sources: at a terminal, a line for each finished source and one for those in progress. Failures are
 * always printed.
 */
export class SourceProgress {
  readonly #io: Io;
  readonly #line: Progress;
  /** The verb for the progress line, for example `fetching`. */
  readonly #verb: string;
  /** Received bytes of the sources in progress, by source. */
  readonly #inProgress = new Map<string, number>();

  constructor(io: Io, verb: string) {
    this.#io = io;
    this.#verb = verb;
    this.#line = new Progress(io);
  }

  async begin(source: string): Promise<void> {
    this.#inProgress.set(source, 0);
    await this.#show();
  }

  async bytes(source: string, bytes: number): Promise<void> {
    if (!this.#inProgress.has(source)) return;
    this.#inProgress.set(source, bytes);
    await this.#line.tick(() => this.#text());
  }

  async end(source: string, what: string): Promise<void> {
    if (this.#io.stderr.isTTY === true) await this.#print(source, what);
    else this.#inProgress.delete(source);
  }

  async fail(source: string, { message, hint }: Pick<KrmhubError, 'message' | 'hint'>): Promise<void> {
    const failed = paint(this.#io, this.#io.stderr, ['bold', 'red'], 'failed');
    const hints = hint === undefined ? [] : this.#wrap(`hint: ${escapeControls(hint)}`);
    await this.#print(source, [`${failed}: ${escapeControls(message)}`, ...hints].join('\n  '));
  }

  /** Wraps a text to the terminal; without one, returns a single line. */
  #wrap(text: string): string[] {
    return this.#io.stderr.isTTY === true ? wrapText(text, terminalWidth(this.#io.stderr) - 2) : [text];
  }

  async #print(source: string, what: string): Promise<void> {
    this.#inProgress.delete(source);
    await this.#line.clear();
    await printLine(this.#io, `${source}: ${what}`);
    await this.#show();
  }

  async #show(): Promise<void> {
    if (this.#inProgress.size === 0) await this.#line.clear();
    else await this.#line.show(this.#text());
  }

  #text(): string {
    const each = [...this.#inProgress].map(([source, bytes]) =>
      bytes === 0 ? source : `${source} (${sizeText(bytes)})`,
    );
    return `${this.#verb} ${each.join(', ')}`;
  }
}
