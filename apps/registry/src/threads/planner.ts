import type { Worker } from 'node:worker_threads';
import { type PublishInput, type PublishPlan, planPublish } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import { Turns } from '../turns.js';
import { BoundedWorker, WorkerEnded } from './bounded-worker.js';
import type { PlanAnswer } from './plan-thread.js';
import { startWorker } from './start-worker.js';

/**
 * Plans what is published. A definition of a megabyte takes a second to check, and everybody else would wait
 * for it, so that large ones are planned in a thread of their own: one after the other, in bounded time and memory.
 */
export class Planner {
  readonly #turns = new Turns();
  readonly #worker: BoundedWorker<PublishInput, PlanAnswer>;
  #waiting = 0;

  constructor(options: { startWorker?: () => Worker; milliseconds?: number } = {}) {
    this.#worker = new BoundedWorker({
      startWorker: options.startWorker ?? startPlanThread,
      milliseconds: options.milliseconds ?? SERVER_LIMITS.planMilliseconds,
    });
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
      return await this.#turns.take('worker', () => this.#ask(input));
    } finally {
      this.#waiting--;
    }
  }

  async close(): Promise<void> {
    await this.#worker.end();
  }

  async #ask(input: PublishInput): Promise<PublishPlan> {
    const answer = await this.#worker.ask(input).catch((error: unknown) => {
      throw error instanceof WorkerEnded ? refusal(error) : error;
    });
    if ('failure' in answer) throw answer.failure;
    if ('plan' in answer) return answer.plan;
    const { message, ...options } = answer.conflict;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, options) };
  }
}

function startPlanThread(): Worker {
  return startWorker('plan-thread', {
    resourceLimits: { maxOldGenerationSizeMb: SERVER_LIMITS.maxPlanMegabytes },
  });
}

function refusal({ exhausted, cause }: WorkerEnded): KrmhubError {
  if (exhausted) {
    return new KrmhubError('invalid-request', 'The definition takes too much time or memory to check', {
      hint: 'Make its schemas smaller.',
    });
  }
  return new KrmhubError('unavailable', 'The definition could not be checked', {
    hint: 'Publish it again in a moment.',
    cause,
  });
}

/** Of all that is read: what is published is compared with the release before. */
function bytesOf({ bytes, currentRelease, newest, predecessor }: PublishInput): number {
  return Math.max(bytes.byteLength, ...[currentRelease, newest, predecessor].map((one) => one?.size ?? 0));
}
