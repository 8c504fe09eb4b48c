import type { Allowance } from '../context.js';

const MINUTE = 60_000;

/**
 * A quota per minute for each key, by the generic cell rate algorithm (ITU-T I.371). A key may use the quota of a
 * minute at once; then it refills evenly. Stores one number for each recently used key.
 */
export class RateLimit {
  readonly policy: string;
  readonly perMinute: number;
  readonly #interval: number;
  readonly #maxKeys: number;
  /** Time at which the quota of a key is complete again, in milliseconds; the most recently used key is last. */
  readonly #fullAt = new Map<string, number>();
  /** Times count from the first call: milliseconds since 1970 leave too few digits for a thousandth of one. */
  #start: number | undefined;

  constructor(policy: string, perMinute: number, maxKeys: number) {
    this.policy = policy;
    this.perMinute = perMinute;
    this.#interval = MINUTE / perMinute;
    this.#maxKeys = maxKeys;
  }

  /** Takes one request from the quota of a key, or nothing if the quota is used up. `now` is in milliseconds. */
  take(key: string, now: number): Allowance {
    const before = this.#pending(key, now);
    const allowed = this.#fits(before);
    const pending = allowed ? before + this.#interval : before;
    if (allowed) this.#store(key, this.#since(now) + pending);
    return this.#allowance(allowed, pending);
  }

  /** Returns what `take` took for a request that does not count. */
  giveBack(key: string, now: number): void {
    const pending = this.#pending(key, now) - this.#interval;
    if (pending > 0) this.#store(key, this.#since(now) + pending);
    else this.#fullAt.delete(key);
  }

  /** Returns what `take` would return, and takes nothing. */
  peek(key: string, now: number): Allowance {
    const pending = this.#pending(key, now);
    return this.#allowance(this.#fits(pending), pending);
  }

  get keys(): number {
    return this.#fullAt.size;
  }

  /** Returns the milliseconds until the quota is complete; at most a minute, in case the clock was set back. */
  #pending(key: string, now: number): number {
    const since = this.#since(now);
    return Math.min(Math.max((this.#fullAt.get(key) ?? since) - since, 0), MINUTE);
  }

  #since(now: number): number {
    this.#start ??= now;
    return now - this.#start;
  }

  /** The sum of fractions of intervals is not exactly a minute. */
  #fits(pending: number): boolean {
    return pending + this.#interval <= MINUTE + 1e-3;
  }

  #store(key: string, wholeAt: number): void {
    this.#fullAt.delete(key);
    this.#fullAt.set(key, wholeAt);
    if (this.#fullAt.size <= this.#maxKeys) return;
    const [oldest] = this.#fullAt.keys();
    if (oldest !== undefined) this.#fullAt.delete(oldest);
  }

  #allowance(allowed: boolean, pending: number): Allowance {
    const waiting = Math.max(pending + this.#interval - MINUTE, 0);
    return {
      policy: this.policy,
      perMinute: this.perMinute,
      allowed,
      remaining: Math.max(Math.floor((MINUTE - pending + 1e-3) / this.#interval), 0),
      resetSeconds: Math.ceil(pending / 1_000),
      retryAfterSeconds: allowed ? 0 : Math.max(Math.ceil(waiting / 1_000), 1),
    };
  }
}

/** Returns the header fields of draft-ietf-httpapi-ratelimit-headers, which are structured fields (RFC 9651). */
export function rateLimitFields(allowance: Allowance): Record<'RateLimit-Policy' | 'RateLimit', string> {
  const { policy, perMinute, remaining, resetSeconds } = allowance;
  return {
    'RateLimit-Policy': `"${policy}";q=${perMinute};w=60`,
    RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  };
}
