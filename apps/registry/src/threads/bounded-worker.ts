import type { Worker } from 'node:worker_threads';

/** Why a worker gave no answer. */
export class WorkerEnded extends Error {
  override readonly name = 'WorkerEnded';
  /** It took too much time or memory: what it was asked is the reason. */
  readonly exhausted: boolean;

  constructor(exhausted: boolean, cause: unknown) {
    super(exhausted ? 'a worker took too much time or memory' : 'a worker ended', { cause });
    this.exhausted = exhausted;
  }
}

/**
 * A worker that answers one message after the other, each in bounded time, and that is started when there is something
 * to ask. One that is late or fails is ended, and the next question starts another.
 */
export class BoundedWorker<Input, Answer> {
  readonly #startWorker: () => Worker;
  readonly #milliseconds: number;
  /** Why the worker ended, where it was not by itself. */
  #failure: unknown;
  #worker: Worker | undefined;

  constructor(options: { startWorker: () => Worker; milliseconds: number }) {
    this.#startWorker = options.startWorker;
    this.#milliseconds = options.milliseconds;
  }

  /** To be called when the answer before is there. Rejects with WorkerEnded. */
  async ask(input: Input): Promise<Answer> {
    this.#failure = undefined;
    this.#worker ??= this.#start();
    return this.#answerOf(this.#worker, input);
  }

  /** Ends the worker, and with it what memory it took. */
  async end(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): Worker {
    const worker = this.#startWorker();
    worker.unref();
    // Who waits for an answer learns of it by the exit that follows.
    worker.on('error', (error) => {
      this.#failure = error;
    });
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  #answerOf(worker: Worker, input: Input): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        worker.off('message', answered);
        worker.off('exit', ended);
        act();
      };
      const answered = (answer: Answer) => settle(() => resolve(answer));
      let late = false;
      const ended = () =>
        settle(() => {
          const { code } = (this.#failure ?? {}) as { code?: unknown };
          reject(new WorkerEnded(late || code === 'ERR_WORKER_OUT_OF_MEMORY', this.#failure));
        });
      const timer = setTimeout(() => {
        late = true;
        void worker.terminate();
      }, this.#milliseconds);
      worker.once('message', answered);
      worker.once('exit', ended);
      worker.postMessage(input);
    });
  }
}
