import { setTimeout as sleep } from 'node:timers/promises';
import { SourceFailure } from './failure.js';

/** Ends one fetch after a timeout, or when the caller aborts it. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #end: number;
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #onOuter = () => this.#stop(new SourceFailure('internal', 'the fetch was aborted'));

  /** `place` names the server in messages. */
  constructor(place: string, milliseconds: number, outer?: AbortSignal) {
    this.#end = performance.now() + milliseconds;
    this.#timer = setTimeout(() => {
      this.#stop(
        new SourceFailure('too-slow', `${place} took longer than ${seconds(milliseconds)} in total`, {
          hint: 'Try again later. If it fails again, use a faster mirror.',
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

  /** The reason if the fetch was ended. */
  get failure(): SourceFailure | undefined {
    return this.signal.aborted ? (this.signal.reason as SourceFailure) : undefined;
  }

  /** Remaining milliseconds. */
  get remaining(): number {
    return Math.max(this.#end - performance.now(), 0);
  }

  /** Waits. Rejects with the failure if the fetch ends before. */
  async wait(milliseconds: number): Promise<void> {
    await this.race(sleep(milliseconds, undefined, { signal: this.signal }));
  }

  /** Returns the result of the promise. Rejects with the failure if the fetch ends before. */
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
