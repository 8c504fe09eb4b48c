import type { Allowance } from '../http/context.js';

const MINUTE = 60_000;

/**
 * A quota per minute for each key, by the generic cell rate algorithm (ITU-T I.371): a minute's quota may be used
 * at once, and then comes back evenly. One number is kept for each of the keys seen last.
 */
export class RateLimit {
  readonly policy: string;
  readonly perMinute: number;
  readonly #interval: number;
  readonly #maxKeys: number;
  /** When the quota of a key will be whole again, in milliseconds; the key used last stands last. */
  readonly #fullAt = new Map<string, number>();
  /** Times count from the first one: milliseconds since 1970 leave too few digits for a thousandth of one. */
  #start: number | undefined;

  constructor(policy: string, perMinute: number, maxKeys: number) {
    this.policy = policy;
    this.perMinute = perMinute;
    this.#interval = MINUTE / perMinute;
    this.#maxKeys = maxKeys;
  }

  /** Takes one request out of the key's quota; where it is used up nothing is taken. `now` is in milliseconds. */
  take(key: string, now: number): Allowance {
    const before = this.#pending(key, now);
    const allowed = this.#fits(before);
    const pending = allowed ? before + this.#interval : before;
    if (allowed) this.#store(key, this.#since(now) + pending);
    return this.#allowance(allowed, pending);
  }

  /** What `take` would find. */
  peek(key: string, now: number): Allowance {
    const pending = this.#pending(key, now);
    return this.#allowance(this.#fits(pending), pending);
  }

  get keys(): number {
    return this.#fullAt.size;
  }

  /** Milliseconds until the quota is whole; never more than a minute, should the clock have been set back. */
  #pending(key: string, now: number): number {
    const since = this.#since(now);
    return Math.min(Math.max((this.#fullAt.get(key) ?? since) - since, 0), MINUTE);
  }

  #since(now: number): number {
    this.#start ??= now;
    return now - this.#start;
  }

  /** Fractions of intervals do not sum up to exactly a minute. */
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

/** The header fields of draft-ietf-httpapi-ratelimit-headers, which are structured fields (RFC 9651). */
export function rateLimitFields(allowance: Allowance): Record<'RateLimit-Policy' | 'RateLimit', string> {
  const { policy, perMinute, remaining, resetSeconds } = allowance;
  return {
    'RateLimit-Policy': `"${policy}";q=${perMinute};w=60`,
    RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  };
}
