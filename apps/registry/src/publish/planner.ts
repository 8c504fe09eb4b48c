import { type PublishInput, type PublishPlan, planPublish, readRecipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { checkCost } from '@krmhub/schema/lint/check-cost';
import type { CheckedRecipe, RecipeReader } from '../catalogs/apply-recipe.js';
import { SERVER_LIMITS } from '../limits.js';
import { ProcessEnded } from '../workers/isolation/bounded-process.js';
import { WarmProcess } from '../workers/isolation/warm-process.js';
import { Turns } from '../workers/locks/turns.js';
import type { PlanResult, RecipeInput } from './plan-process.js';

/**
 * Plans releases. Checking a definition of a megabyte takes a second and would block other requests, and so do a hundred
 * patterns that repeat. So definitions that are large, or whose expressions are, are planned in a separate process: one
 * at a time, in bounded time and memory. Others take a few milliseconds, each in its own turn of the event loop.
 */
export class Planner implements RecipeReader {
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
    if (isSmall(input.bytes, largestDefinition(input))) return this.#turns.run(() => planPublish(input));
    const response = await this.#inProcess(input);
    if ('plan' in response) return response.plan;
    if (!('conflict' in response)) throw new Error('the process has checked a recipe');
    const { message, ...options } = response.conflict;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, options) };
  }

  /** Reads a recipe, by the same rules: its defaults are checked as those of a definition. */
  async readRecipe(bytes: Uint8Array, file: string): Promise<CheckedRecipe> {
    if (isSmall(bytes, bytes.byteLength)) return this.#turns.run(() => readRecipe(bytes, file));
    const response = await this.#inProcess({ recipe: bytes, file });
    if ('checked' in response) return response.checked;
    throw new Error('the process has planned a release');
  }

  async close(): Promise<void> {
    await this.#warmProcess.close();
  }

  async #inProcess(input: PublishInput | RecipeInput): Promise<Exclude<PlanResult, { failure: unknown }>> {
    if (this.#waiting >= SERVER_LIMITS.maxPlansWaiting) {
      throw new KrmhubError('unavailable', 'too many large or complex definitions are waiting for a check', {
        hint: 'Publish again in a few seconds.',
      });
    }
    this.#waiting++;
    try {
      const response = (await this.#warmProcess.call(input).catch((error: unknown) => {
        throw refusal(error);
      })) as PlanResult;
      if ('failure' in response) throw response.failure;
      return response;
    } finally {
      this.#waiting--;
    }
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

function isSmall(bytes: Uint8Array, size: number): boolean {
  const { maxPlannedInlineBytes, maxInlineCheckCost } = SERVER_LIMITS;
  return size <= maxPlannedInlineBytes && checkCost(bytes) <= maxInlineCheckCost;
}

/** Returns the size of all definitions that the plan reads, in bytes, including the earlier releases. */
function largestDefinition({ bytes, currentRelease, displayed: newest, predecessor }: PublishInput): number {
  return Math.max(bytes.byteLength, ...[currentRelease, newest, predecessor].map((one) => one?.size ?? 0));
}
