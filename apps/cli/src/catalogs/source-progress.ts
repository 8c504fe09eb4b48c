import type { KrmhubError } from '@krmhub/schema';
import { columnsOf, type Io, paint } from '../io/io.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { visible, wrap } from '../io/text.js';

/** How far sources are: at a terminal a line for each that is done, and one for those that are under way. Failures are told everywhere. */
export class SourceProgress {
  readonly #io: Io;
  readonly #line: Progress;
  /** What is being done to sources of which nothing has come yet. */
  readonly #doing: string;
  /** Bytes that have come, by source. */
  readonly #underWay = new Map<string, number>();

  constructor(io: Io, doing: string) {
    this.#io = io;
    this.#doing = doing;
    this.#line = new Progress(io);
  }

  async begin(source: string): Promise<void> {
    this.#underWay.set(source, 0);
    await this.#show();
  }

  async bytes(source: string, bytes: number): Promise<void> {
    if (!this.#underWay.has(source)) return;
    this.#underWay.set(source, bytes);
    await this.#line.tick(() => this.#text());
  }

  async end(source: string, what: string): Promise<void> {
    if (this.#io.stderr.isTTY === true) await this.#tell(source, what);
    else this.#underWay.delete(source);
  }

  async fail(source: string, { message, hint }: Pick<KrmhubError, 'message' | 'hint'>): Promise<void> {
    const failed = paint(this.#io, this.#io.stderr, ['bold', 'red'], 'failed');
    const hints = hint === undefined ? [] : this.#fitting(`hint: ${visible(hint)}`);
    await this.#tell(source, [`${failed}: ${visible(message)}`, ...hints].join('\n  '));
  }

  /** Lines for below a source; where nobody looks at them, one. */
  #fitting(text: string): string[] {
    return this.#io.stderr.isTTY === true ? wrap(text, columnsOf(this.#io.stderr) - 2) : [text];
  }

  async #tell(source: string, what: string): Promise<void> {
    this.#underWay.delete(source);
    await this.#line.clear();
    await printLine(this.#io, `${source}: ${what}`);
    await this.#show();
  }

  async #show(): Promise<void> {
    if (this.#underWay.size === 0) await this.#line.clear();
    else await this.#line.show(this.#text());
  }

  #text(): string {
    const each = [...this.#underWay].map(([source, bytes]) =>
      bytes === 0 ? source : `${source} (${sizeText(bytes)})`,
    );
    return `${this.#doing} ${each.join(', ')}`;
  }
}
