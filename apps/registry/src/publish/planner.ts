import { type PublishInput, type PublishPlan, planPublish } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { checkCost } from '@krmhub/schema/lint/check-cost';
import { SERVER_LIMITS } from '../limits.js';
import { ProcessEnded } from '../workers/isolation/bounded-process.js';
import { WarmProcess } from '../workers/isolation/warm-process.js';
import { Turns } from '../workers/locks/turns.js';
import type { PlanResult } from './plan-process.js';

/**
 * Plans releases. Checking a definition of a megabyte takes a second and would block other requests, and so do a hundred
 * patterns that repeat. So definitions that are large, or whose expressions are, are planned in a separate process: one
 * at a time, in bounded time and memory. Others take a few milliseconds, each in its own turn of the event loop.
 */
export class Planner {
  readonly #warmProcess: WarmProcess;
  readonly #turns: Turns;
  #waiting = 0;

  constructor(options: { module?: string; milliseconds?: number; megabytes?: number; turns?: Turns } = {}) {
    this.#turns = options.turns ?? new Turns();
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
      maxResponseBytes: SERVER_LIMITS.maxPlanResultBytes,
    });
  }

  /**
   * Returns the plan. Rejects with `unavailable` if too many requests wait, and with `invalid-request` if the check
   * takes too long.
   */
  async plan(input: PublishInput): Promise<PublishPlan> {
    if (isSmall(input)) return this.#turns.run(() => planPublish(input));
    if (this.#waiting >= SERVER_LIMITS.maxPlansWaiting) {
      throw new KrmhubError('unavailable', 'too many large or complex definitions are waiting for a check', {
        hint: 'Publish again in a few seconds.',
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
    const response = (await this.#warmProcess.call(input).catch((error: unknown) => {
      throw refusal(error);
    })) as PlanResult;
    if ('failure' in response) throw response.failure;
    if ('plan' in response) return response.plan;
    const { message, ...options } = response.conflict;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, options) };
  }
}

function refusal(cause: unknown): KrmhubError {
  if (cause instanceof ProcessEnded && cause.end === 'exhausted') {
    return new KrmhubError('invalid-request', 'the check of the definition takes too much time or memory', {
      hint: 'Simplify the schemas of the definition.',
    });
  }
  return new KrmhubError('unavailable', 'cannot check the definition', {
    hint: 'Publish again in a few seconds.',
    cause,
  });
}

function isSmall(input: PublishInput): boolean {
  const { maxPlannedInlineBytes, maxInlineCheckCost } = SERVER_LIMITS;
  return largestDefinition(input) <= maxPlannedInlineBytes && checkCost(input.bytes) <= maxInlineCheckCost;
}

/** Returns the size of all definitions that the plan reads, in bytes, including the earlier releases. */
function largestDefinition({ bytes, currentRelease, displayed: newest, predecessor }: PublishInput): number {
  return Math.max(bytes.byteLength, ...[currentRelease, newest, predecessor].map((one) => one?.size ?? 0));
}
