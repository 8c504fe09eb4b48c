import { type PublishInput, type PublishPlan, planPublish } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { ProcessEnded } from '../isolation/bounded-process.js';
import { WarmProcess } from '../isolation/warm-process.js';
import { SERVER_LIMITS } from '../limits.js';
import type { PlanResult } from './plan-process.js';

/**
 * Plans what is published. A definition of a megabyte takes a second to check, and everybody else would wait for it.
 * So large ones are planned in a process of their own: one after the other, in bounded time and memory.
 */
export class Planner {
  readonly #warmProcess: WarmProcess;
  #waiting = 0;

  constructor(options: { module?: string; milliseconds?: number; megabytes?: number } = {}) {
    const { milliseconds = SERVER_LIMITS.planMilliseconds, megabytes = SERVER_LIMITS.maxPlanMegabytes } =
      options;
    this.#warmProcess = new WarmProcess({
      entry: 'plan-process',
      module: options.module,
      bounds: {
        milliseconds,
        megabytes,
        reuseMilliseconds: SERVER_LIMITS.planProcessMilliseconds,
        // A publisher waits for the plan.
        priority: 'normal',
      },
      maxAnswerBytes: SERVER_LIMITS.maxPlanResultBytes,
    });
  }

  /** Rejects with `unavailable` where too many wait, and with `invalid-request` for what takes too long to check. */
  async plan(input: PublishInput): Promise<PublishPlan> {
    if (bytesOf(input) <= SERVER_LIMITS.maxPlannedAtOnceBytes) return planPublish(input);
    if (this.#waiting >= SERVER_LIMITS.maxPlansWaiting) {
      throw new KrmhubError('unavailable', 'too many large definitions are waiting to be checked', {
        hint: 'Publish again in a moment.',
      });
    }
    this.#waiting++;
    try {
      return await this.#planLarge(input);
    } finally {
      this.#waiting--;
    }
  }

  async close(): Promise<void> {
    await this.#warmProcess.close();
  }

  async #planLarge(input: PublishInput): Promise<PublishPlan> {
    const answer = (await this.#warmProcess.call(input).catch((error: unknown) => {
      throw refusal(error);
    })) as PlanResult;
    if ('failure' in answer) throw answer.failure;
    if ('plan' in answer) return answer.plan;
    const { message, ...options } = answer.conflict;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, options) };
  }
}

function refusal(cause: unknown): KrmhubError {
  if (cause instanceof ProcessEnded && cause.end === 'exhausted') {
    return new KrmhubError('invalid-request', 'checking the definition takes too much time or memory', {
      hint: 'Simplify its schemas.',
    });
  }
  return new KrmhubError('unavailable', 'cannot check the definition', {
    hint: 'Publish again in a moment.',
    cause,
  });
}

/** Of all that is read: what is published is compared with the release before. */
function bytesOf({ bytes, currentRelease, displayed: newest, predecessor }: PublishInput): number {
  return Math.max(bytes.byteLength, ...[currentRelease, newest, predecessor].map((one) => one?.size ?? 0));
}
