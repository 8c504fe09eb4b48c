import { ROUTES, type RouteName } from '@krmhub/api/routes';
import { SERVER_LIMITS } from '../../limits.js';
import { rateLimitKey } from '../client-address.js';
import type { Allowance, RateLimitClass, RegistryContext, RequestLimiter, TypedCode } from '../context.js';
import { TooManyRequests } from '../too-many-requests.js';
import { RateLimit } from './rate-limit.js';

/**
 * The class of each route. `write` counts by token, `read` by the address of the client. `free` does not count: the
 * response is stored bytes, or costs less than counting.
 */
export const RATE_LIMIT_CLASSES = {
  search: 'read',
  functionsExport: 'read',
  function: 'read',
  functionConfigSchema: 'read',
  reportConsumer: 'write',
  functionConsumers: 'read',
  renovate: 'read',
  renovateImage: 'read',
  renovatePreset: 'free',
  release: 'read',
  publish: 'write',
  definition: 'free',
  readme: 'free',
  bundles: 'read',
  bundle: 'free',
  attach: 'write',
  yank: 'write',
  unyank: 'write',
  deprecate: 'write',
  undeprecate: 'write',
  takedown: 'write',
  policies: 'read',
  applyPolicies: 'write',
  owners: 'read',
  claimGroup: 'write',
  verifyOwner: 'write',
  releaseGroup: 'write',
  trustedPublishers: 'read',
  addPublisher: 'write',
  checkPublishers: 'write',
  removePublisher: 'write',
  oidcAudience: 'free',
  exchangeToken: 'read',
  requestLogin: 'read',
  loginToken: 'read',
  access: 'read',
  applyAccess: 'write',
  checkAccess: 'write',
  catalogs: 'read',
  catalog: 'read',
  catalogReleases: 'read',
  applyCatalog: 'write',
  deleteCatalog: 'write',
  restoreCatalog: 'write',
  cut: 'write',
  catalogInputs: 'read',
  catalogReport: 'read',
  catalogFunction: 'read',
  sources: 'read',
  refreshSource: 'write',
  sourceCopy: 'read',
  catalogYaml: 'free',
  catalogJson: 'free',
  // A request with the exact spelling of an entry is served before it counts.
  catalogEntry: 'read',
  snapshots: 'read',
  // Old snapshots are read from their entries.
  snapshotCatalogYaml: 'read',
  snapshotCatalogJson: 'read',
  snapshotJson: 'read',
  snapshotReport: 'read',
  snapshotProfile: 'read',
  snapshotBundle: 'read',
  catalogBundle: 'read',
  registryKeys: 'free',
  registryKey: 'free',
  events: 'read',
  revocations: 'read',
  audit: 'read',
  whoami: 'read',
  listTokens: 'read',
  createToken: 'write',
  revokeToken: 'write',
  reportLeak: 'read',
  users: 'read',
  user: 'read',
  suspendUser: 'write',
  restoreUser: 'write',
  openapi: 'free',
  healthz: 'free',
  readyz: 'free',
  metrics: 'free',
} satisfies Record<RouteName, RateLimitClass>;

const CLASS_BY_OPERATION = new Map<unknown, RateLimitClass>(
  Object.entries(ROUTES).map(([name, route]) => [route, RATE_LIMIT_CLASSES[name as RouteName]]),
);

/** Requests per minute; absent or 0 for no limit. */
export interface RequestLimitSettings {
  /** For each client address, where a response needs computation. */
  requestsPerMinute?: number;
  /** For each token. */
  writesPerMinute?: number;
  /** For each client address, or the user who types codes. */
  failedLoginsPerMinute?: number;
}

/** Limits the rate of requests. Each process counts separately; 0 or no setting means no limit. */
export class RequestLimits implements RequestLimiter {
  readonly #reads: RateLimit | undefined;
  readonly #writes: RateLimit | undefined;
  readonly #failures: RateLimit | undefined;
  readonly #clock: () => Date;
  readonly #loginFailed: () => void;

  /** `loginFailed` is called for each failed login, also if there is no limit. */
  constructor(settings: RequestLimitSettings, clock: () => Date, loginFailed: () => void = () => undefined) {
    this.#clock = clock;
    this.#loginFailed = loginFailed;
    this.#reads = limit('requests', settings.requestsPerMinute);
    this.#writes = limit('writes', settings.writesPerMinute);
    this.#failures = limit('failed-logins', settings.failedLoginsPerMinute);
  }

  /** Counts a request of a route. Throws TooManyRequests. */
  countRequest(c: RegistryContext, route: unknown): void {
    this.countBy(c, CLASS_BY_OPERATION.get(route) ?? 'free');
  }

  /** Counts a request that is not of the HTTP API. Throws TooManyRequests. */
  countBy(c: RegistryContext, rateLimitClass: RateLimitClass): void {
    c.set('rateLimitClass', rateLimitClass);
    if (rateLimitClass !== 'read' || this.#reads === undefined) return;
    const allowance = this.#reads.take(rateLimitKey(c.get('client')), this.#now());
    c.set('allowance', allowance);
    if (!allowance.allowed) throw new TooManyRequests('too many requests from your address', allowance);
  }

  /** Counts a write of a token; all tokens and sessions of a user are one. Throws TooManyRequests. */
  countWrite(c: RegistryContext, token: { id: string; name: string; user?: { id: string } }): void {
    if (c.get('rateLimitClass') !== 'write' || this.#writes === undefined) return;
    const allowance = this.#writes.take(token.user?.id ?? token.id, this.#now());
    c.set('allowance', allowance);
    if (!allowance.allowed) {
      throw new TooManyRequests(`too many requests with the token "${token.name}"`, allowance);
    }
  }

  /**
   * Refuses a sign-in after too many failed ones. Not tokens: they have 256 random bits, so that none is guessed, and a
   * valid one must work whatever others behind its address do. Throws TooManyRequests.
   */
  refuseGuessing(c: RegistryContext): void {
    this.#refuseFailure(c, this.#failures?.peek(guesser(c, 'sign-in'), this.#now()));
  }

  /** Counts a failed login. Throws TooManyRequests after too many, in place of the answer. */
  countFailure(c: RegistryContext, of: 'token' | 'sign-in'): void {
    this.#loginFailed();
    this.#refuseFailure(c, this.#failures?.take(guesser(c, of), this.#now()));
  }

  async guess<Found>(
    c: RegistryContext,
    of: TypedCode,
    look: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const key = guesser(c, of);
    this.#refuseFailure(c, this.#failures?.take(key, this.#now()));
    let isWrong = false;
    try {
      const found = await look();
      isWrong = found === undefined;
      return found;
    } finally {
      if (isWrong) this.#loginFailed();
      else this.#failures?.giveBack(key, this.#now());
    }
  }

  #refuseFailure(c: RegistryContext, allowance: Allowance | undefined): void {
    if (allowance === undefined || allowance.allowed) return;
    c.set('allowance', allowance);
    throw new TooManyRequests('too many failed logins', allowance);
  }

  #now(): number {
    return this.#clock().getTime();
  }
}

/** Who fails, by what: a pipeline with a revoked token must not keep the users behind its address from signing in. */
function guesser(c: RegistryContext, of: 'token' | 'sign-in' | TypedCode): string {
  return typeof of === 'string' ? `${of} ${rateLimitKey(c.get('client'))}` : `code ${of.codeTypedBy}`;
}

function limit(policy: string, perMinute: number | undefined): RateLimit | undefined {
  if (perMinute === undefined || perMinute === 0) return undefined;
  return new RateLimit(policy, perMinute, SERVER_LIMITS.maxCountedClients);
}
