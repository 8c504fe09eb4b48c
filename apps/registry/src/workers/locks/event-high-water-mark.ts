interface Waiter {
  event: number;
  done: () => void;
}

/** The last event up to which some work is done, -1 at first, with callers that wait for an event. */
export class EventHighWaterMark {
  readonly #waiting = new Set<Waiter>();
  #event = -1;

  get event(): number {
    return this.#event;
  }

  set event(event: number) {
    this.#event = event;
    for (const waiter of this.#waiting) if (waiter.event <= event) waiter.done();
  }

  /** Resolves with whether the event was reached before the timeout and before `stopWaiting`. */
  waitFor(event: number, milliseconds: number): Promise<boolean> {
    if (this.#event >= event) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = {
        event,
        done: () => {
          clearTimeout(timer);
          this.#waiting.delete(waiter);
          resolve(this.#event >= event);
        },
      };
      const timer = setTimeout(waiter.done, milliseconds);
      this.#waiting.add(waiter);
    });
  }

  stopWaiting(): void {
    for (const { done } of this.#waiting) done();
  }
}
