import { setTimeout as sleep } from 'node:timers/promises';
import { SourceFailure } from './failure.js';

/** The end of everything that one fetch does: by time, or because whoever asked has called it off. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #end: number;
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #onOuter = () => this.#stop(new SourceFailure('internal', 'the fetch was called off'));

  /** `place` is what messages call the other side. */
  constructor(place: string, milliseconds: number, outer?: AbortSignal) {
    this.#end = performance.now() + milliseconds;
    this.#timer = setTimeout(() => {
      this.#stop(
        new SourceFailure('too-slow', `${place} took longer than ${seconds(milliseconds)} altogether`, {
          hint: 'It is asked again later. If it stays so, fetch it from a mirror that is nearer.',
        }),
      );
    }, milliseconds);
    this.#outer = outer;
    if (outer?.aborted === true) this.#onOuter();
    outer?.addEventListener('abort', this.#onOuter, { once: true });
  }

  /** Aborted with a SourceFailure. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it is over; undefined while it is not. */
  get failure(): SourceFailure | undefined {
    return this.signal.aborted ? (this.signal.reason as SourceFailure) : undefined;
  }

  /** Milliseconds. */
  get remaining(): number {
    return Math.max(this.#end - performance.now(), 0);
  }

  /** Rejects with the failure where it ends before that. */
  async wait(milliseconds: number): Promise<void> {
    await this.race(sleep(milliseconds, undefined, { signal: this.signal }));
  }

  /** What was promised, unless the end comes before it: then the failure. */
  async race<Result>(promise: Promise<Result>): Promise<Result> {
    promise.catch(() => undefined);
    this.signal.throwIfAborted();
    let onAbort: (() => void) | undefined;
    const ended = new Promise<never>((_, reject) => {
      onAbort = () => reject(this.signal.reason);
      this.signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([promise, ended]);
    } finally {
      this.signal.removeEventListener('abort', onAbort!);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onOuter);
  }

  #stop(failure: SourceFailure): void {
    this.#controller.abort(failure);
  }
}

export function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1_000).toFixed(1))} s`;
}
