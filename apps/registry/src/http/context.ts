import type { IncomingMessage } from 'node:http';
import type { Context, Hono } from 'hono';

/**
 * What a request is counted by: `write` by its token, `read` by the address of its client, `free` not at all, since
 * its response is stored bytes or costs less than counting would.
 */
export type RateLimitClass = 'free' | 'read' | 'write';

/** What a request finds of its quota. */
export interface Allowance {
  /** The limit's, as the header fields name it. */
  policy: string;
  perMinute: number;
  allowed: boolean;
  /** Requests that may follow at once. */
  remaining: number;
  /** Until the whole quota is there again. */
  resetSeconds: number;
  /** Until one request is allowed; 0 where it is now. */
  retryAfterSeconds: number;
}

/** The limits on how often a client may send requests. Every method can throw TooManyRequests but `recordLogin`. */
export interface RequestLimiter {
  /** To be called with the route that a request asks for. */
  countRequest(c: RegistryContext, route: unknown): void;
  /** The same for what is no route of the HTTP API. */
  countBy(c: RegistryContext, rateLimitClass: RateLimitClass): void;
  /** To be called with the token of a request that is to change something. */
  countWrite(c: RegistryContext, token: { id: string; name: string }): void;
  /** To be called before a token is looked up, by its hash. */
  refuseGuessing(c: RegistryContext, hash: string | undefined): void;
  /** To be called with what became of a token that was given. */
  recordLogin(c: RegistryContext, hash: string | undefined, good: boolean): void;
}

export interface RequestVariables {
  requestId: string;
  /** The path's template; `unmatched` where no route has it. */
  route: string;
  /** The client's address. */
  client: string;
  limits: RequestLimiter;
  rateLimitClass?: RateLimitClass;
  /** Whether the answer is for this client alone, and for no cache and no page of another origin. */
  isPrivate?: boolean;
  /** What the limit that counted the request has left. */
  allowance?: Allowance;
}

export type RegistryEnv = {
  Variables: RequestVariables;
  /** Nothing where a request comes by no socket. */
  Bindings: { incoming?: IncomingMessage };
};
export type RegistryApp = Hono<RegistryEnv>;
export type RegistryContext = Context<RegistryEnv>;
