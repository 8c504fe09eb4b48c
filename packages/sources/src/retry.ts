import type { Deadline } from './deadline.js';
import { SourceFailure } from './failure.js';
import type { SourceLimits } from './limits.js';

/** Does work of which nothing stays where it fails, again where the failure may pass, as long as there is time. */
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
      // Many that fail together do not come back together.
      const wait = error.retryAfterMilliseconds ?? backoff * (1 + Math.random() / 2);
      if (wait >= deadline.remaining) throw error;
      await deadline.wait(wait);
    }
  }
}

/** Milliseconds that a Retry-After asks for (RFC 9110, 10.2.3); `now` is milliseconds since 1970. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
