import type { IncomingMessage } from 'node:http';
import type { Actor, TokenRecord } from '@krmhub/catalog';
import type { AuditAction } from '@krmhub/schema';
import type { Context, Hono } from 'hono';
import type { OpenSignIn } from './auth/open-sign-in.js';
import type { BodyLease } from './body-memory.js';

/**
 * Rate limit class of a request. `write` counts by token, `read` by the address of the client. `free` does not count:
 * the response is stored bytes, or costs less than counting.
 */
export type RateLimitClass = 'free' | 'read' | 'write';

/** What is left of a quota for a request. */
export interface Allowance {
  /** Name of the limit in the header fields. */
  policy: string;
  perMinute: number;
  allowed: boolean;
  /** Requests that are allowed at once. */
  remaining: number;
  /** Seconds until the quota is complete again. */
  resetSeconds: number;
  /** Seconds until one request is allowed; 0 if it is now. */
  retryAfterSeconds: number;
}

/** A code of `krmhub login`, by the user who types it. */
export interface TypedCode {
  codeTypedBy: string;
}

/** Limits the rate of a client's requests. Every method can throw TooManyRequests. */
export interface RequestLimiter {
  /** Counts a request of a route. */
  countRequest(c: RegistryContext, route: unknown): void;
  /** Counts a request that is not of the HTTP API. */
  countBy(c: RegistryContext, rateLimitClass: RateLimitClass): void;
  /** Counts a write of a token. */
  countWrite(c: RegistryContext, token: { id: string; name: string }): void;
  /** Refuses a sign-in with a provider after too many failed ones from the address of the client. */
  refuseGuessing(c: RegistryContext): void;
  /** Counts a failed login from the address of the client. Throws after too many, in place of the answer. */
  countFailure(c: RegistryContext, of: 'token' | 'sign-in'): void;
  /**
   * Looks up a guess. It counts as a failed login until something is found: of guesses at the same time, not more are
   * looked up than the limit allows.
   */
  guess<Found>(
    c: RegistryContext,
    of: TypedCode,
    look: () => Promise<Found | undefined>,
  ): Promise<Found | undefined>;
}

/** The client of a read, while its response is being sent. */
export interface CheckedReader {
  /** With the rights that it has now. */
  actor: Actor;
  /** Whether it may read the same as when the request came. */
  isSame: boolean;
}

/** What a request tries to change, for the audit log of refused requests. */
export interface Attempt {
  action: AuditAction;
  object: string;
}

/** A signed-in user of a page that anybody may open. */
export interface Visitor {
  actor: Actor;
  /** HTML that says who it is. */
  line: string;
}

export interface RequestVariables {
  requestId: string;
  /** Template of the path; `unmatched` if no route matches. */
  route: string;
  /** The client's address. */
  client: string;
  /** ID and name of the token of the request, also of one that is revoked or has expired. */
  actor?: { id: string; name: string };
  /** What the request tries to change; absent if it changes nothing, or if no table has its route. */
  attempt?: Attempt;
  /** If the response has the status 404, it may refuse a change of something that the token may not see. */
  isRefusedAsAbsent?: boolean;
  /** ID of the token of the request, after it was checked. */
  tokenId?: string;
  /** The sign-in of the user of the request, from which the user can get more tokens. */
  signIn?: OpenSignIn;
  /** The row of the token, from when the request came; it is used once. */
  foundToken?: { hash: string; token: TokenRecord; at: number } | undefined;
  /** Whether the client had sent everything before the row of its token was read. */
  isWholeSinceToken?: boolean;
  /** Rejects if the token of the request has been revoked since, has expired, or has lost the right to the request. */
  recheckToken?: () => Promise<TokenRecord>;
  /** The token of the request, as it was read last. */
  latestToken?: TokenRecord;
  /** When that was, by `performance.now()`. */
  tokenReadAt?: number;
  /** Rejects if the token by which the client of a read is known was revoked meanwhile, or has expired. */
  recheckReader?: () => Promise<CheckedReader>;
  /** Why the token of a read counts as none, for example `the token "ci" is revoked`. */
  uselessToken?: string;
  /** Whether it may count again in a minute. */
  isTokenAway?: boolean;
  /** Memory of the body of the request. */
  bodyLease?: BodyLease;
  limits: RequestLimiter;
  rateLimitClass?: RateLimitClass;
  /** The response is for this client only: not for caches, and not for pages of other origins. */
  isPrivate?: boolean;
  /** Finds who sends the cookie of a session. Only pages call it. Absent if the registry hides nothing. */
  findVisitor?: (c: RegistryContext) => Promise<Visitor | undefined>;
  /** Whom `findVisitor` found, if the page is not one of operators. */
  visitor?: Visitor;
  /** The body is generated while it is sent. */
  isStream?: boolean;
  /** What the response promises is durable: the change stored something, and waited for that, or there was none. */
  isDurable?: boolean;
  /** The error code and the error behind a status of 500 or higher, for the log. */
  failure?: { code: string; err: unknown };
  /** Remaining quota of the limit that counted the request. */
  allowance?: Allowance;
}

export type RegistryEnv = {
  Variables: RequestVariables;
  /** Empty if the request has no socket. */
  Bindings: { incoming?: IncomingMessage };
};
export type RegistryApp = Hono<RegistryEnv>;
export type RegistryContext = Context<RegistryEnv>;
