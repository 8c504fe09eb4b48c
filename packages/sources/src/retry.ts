import type { Deadline } from './deadline.js';
import { SourceFailure } from './failure.js';
import type { SourceLimits } from './limits.js';

/** Retries an idempotent operation after temporary failures, within the deadline. */
export async function withRetries<Result>(
  work: () => Promise<Result>,
  { deadline, limits }: { deadline: Deadline; limits: SourceLimits },
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SourceFailure) || !error.isTemporary || attempt >= limits.maxAttempts)
        throw error;
      const backoff = limits.firstRetryMilliseconds * 2 ** (attempt - 1);
      // Random delay, so that clients do not retry at the same time.
      const wait = error.retryAfterMilliseconds ?? backoff * (1 + Math.random() / 2);
      if (wait >= deadline.remaining) throw error;
      await deadline.wait(wait);
    }
  }
}

/** Parses Retry-After (RFC 9110, 10.2.3) to milliseconds; `now` is milliseconds since 1970. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
