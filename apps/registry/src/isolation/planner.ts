import type { Worker } from 'node:worker_threads';
import { type PublishInput, type PublishPlan, planPublish } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import { KeyedMutex } from './keyed-mutex.js';
import type { PlanAnswer } from './plan-thread.js';
import { startWorker } from './start-worker.js';

/**
 * Plans what is published. A definition of a megabyte takes a second to check, and everybody else would wait
 * for it, so that large ones are planned in a thread of their own: one after the other, in bounded time and memory.
 */
export class Planner {
  readonly #turns = new KeyedMutex();
  readonly #startWorker: () => Worker;
  readonly #milliseconds: number;
  #waiting = 0;
  /** Why the worker ended, where it was not by itself. */
  #failure: unknown;
  #worker: Worker | undefined;

  constructor(options: { startWorker?: () => Worker; milliseconds?: number } = {}) {
    this.#startWorker = options.startWorker ?? startPlanThread;
    this.#milliseconds = options.milliseconds ?? SERVER_LIMITS.planMilliseconds;
  }

  /** Rejects with `unavailable` where too many wait, and with `invalid-request` for what takes too long to check. */
  async plan(input: PublishInput): Promise<PublishPlan> {
    if (bytesOf(input) <= SERVER_LIMITS.maxPlannedAtOnceBytes) return planPublish(input);
    if (this.#waiting >= SERVER_LIMITS.maxPlansWaiting) {
      throw new KrmhubError('unavailable', 'Too many large definitions are waiting to be checked', {
        hint: 'Publish it again in a moment.',
      });
    }
    this.#waiting++;
    try {
      return await this.#turns.run('worker', () => this.#ask(input));
    } finally {
      this.#waiting--;
    }
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #ask(input: PublishInput): Promise<PublishPlan> {
    this.#failure = undefined;
    this.#worker ??= this.#start();
    const answer = await this.#answerOf(this.#worker, input);
    if ('failure' in answer) throw answer.failure;
    if ('plan' in answer) return answer.plan;
    const { message, ...options } = answer.conflict;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, options) };
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

  #answerOf(worker: Worker, input: PublishInput): Promise<PlanAnswer> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        worker.off('message', answered);
        worker.off('exit', ended);
        act();
      };
      const answered = (answer: PlanAnswer) => settle(() => resolve(answer));
      let late = false;
      const ended = () => settle(() => reject(refusal(late, this.#failure)));
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

function startPlanThread(): Worker {
  return startWorker('plan-thread', {
    resourceLimits: { maxOldGenerationSizeMb: SERVER_LIMITS.maxPlanMegabytes },
  });
}

function refusal(late: boolean, failure: unknown): KrmhubError {
  const { code } = (failure ?? {}) as { code?: unknown };
  if (late || code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new KrmhubError('invalid-request', 'The definition takes too much time or memory to check', {
      hint: 'Make its schemas smaller.',
    });
  }
  return new KrmhubError('unavailable', 'The definition could not be checked', {
    hint: 'Publish it again in a moment.',
    cause: failure,
  });
}

/** Of all that is read: what is published is compared with the release before. */
function bytesOf({ bytes, currentRelease, newest, predecessor }: PublishInput): number {
  return Math.max(bytes.byteLength, ...[currentRelease, newest, predecessor].map((one) => one?.size ?? 0));
}
