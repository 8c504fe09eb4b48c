import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import type { BuilderStatus } from './catalog-builder.js';

export interface Failure {
  error: unknown;
  attempts: number;
  /** Milliseconds since the epoch. */
  retryAt: number;
}

/** Failed work of the builder, which it retries after longer and longer times. */
export class Failures {
  /** Failed builds by catalog. */
  readonly of = new Map<string, Failure>();
  ofStore: Failure | undefined;
  ofSearch: Failure | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  next(earlier: Failure | undefined, error: unknown): Failure {
    const attempts = (earlier?.attempts ?? 0) + 1;
    const { minRetryMilliseconds, maxRetryMilliseconds } = SERVER_LIMITS;
    const delay = Math.min(minRetryMilliseconds * 2 ** (attempts - 1), maxRetryMilliseconds);
    return { error, attempts, retryAt: this.#now() + delay };
  }

  /** Reports whether a build of the catalog may be tried now. */
  isDue(catalog: string): boolean {
    const failure = this.of.get(catalog);
    return failure === undefined || failure.retryAt <= this.#now();
  }

  /** Returns the milliseconds until a retry. */
  delay({ retryAt }: Failure): number {
    return Math.max(retryAt - this.#now(), 0);
  }

  /** Returns the milliseconds until the next retry of builds; infinite if there is none. */
  untilRetry(): number {
    const due = [...this.of.values(), ...(this.ofStore === undefined ? [] : [this.ofStore])];
    return Math.min(...due.map((failure) => this.delay(failure)));
  }

  status(): Omit<BuilderStatus, 'caughtUp'> {
    const failure = this.ofStore ?? this.ofSearch;
    return {
      ...defined({ failure: failure === undefined ? undefined : errorMessage(failure.error) }),
      failing: [...this.of].map(([catalog, { error }]) => ({ catalog, message: errorMessage(error) })),
    };
  }
}

function errorMessage(error: unknown): string {
  return error instanceof KrmhubError ? error.message : 'internal error; see the log';
}
