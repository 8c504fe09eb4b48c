import { KrmhubError } from '@krmhub/schema';
import type { Allowance } from './context.js';

/** A request over a rate limit; the Retry-After of the response says when to retry. */
export class TooManyRequests extends KrmhubError {
  readonly retryAfterSeconds: number;

  constructor(message: string, { retryAfterSeconds, perMinute }: Allowance) {
    const seconds = `${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}`;
    super('rate-limited', message, {
      hint: `Try again in ${seconds}. The limit is ${perMinute} per minute.`,
    });
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
