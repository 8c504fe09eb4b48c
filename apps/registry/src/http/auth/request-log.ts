import { escapeControls } from '@krmhub/schema/text';
import { SERVER_LIMITS } from '../../limits.js';
import { type Log, rareWarning, withoutTokens } from '../../log.js';
import { rateLimitKey, siteKey } from '../client-address.js';
import { RateLimit } from './rate-limit.js';

export interface LoggedRequest {
  requestId: string;
  /** The client's address. */
  client: string;
  /** Name and ID of the token of the request, if the registry checked it. */
  actor?: { name: string; id: string };
  method: string;
  /** Template of the path. */
  route: string;
  path: string;
  status: number;
  seconds: number;
  /** The error code and the error of a response with status 500 or higher. */
  failure?: { code: string; err: unknown };
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** An IPv6 site has the quota of as many networks. */
const NETWORKS_OF_SITE = 10;

/** Longest path of a line, in UTF-16 code units. */
const MAX_PATH = 500;

/**
 * Logs requests. Anyone can send requests that cost nothing, so each client address has a quota of lines: otherwise it
 * could fill the disk. Changes are always logged: tokens limit them. The metrics count every request.
 */
export class RequestLog {
  readonly #log: Log;
  readonly #clock: () => Date;
  readonly #onDrop: () => void;
  readonly #warn: (fields: object) => void;
  readonly #quota = new RateLimit(
    'log',
    SERVER_LIMITS.loggedRequestsPerMinute,
    SERVER_LIMITS.maxCountedClients,
  );

  readonly #sites = new RateLimit(
    'log',
    SERVER_LIMITS.loggedRequestsPerMinute * NETWORKS_OF_SITE,
    SERVER_LIMITS.maxCountedClients,
  );

  /** `onDrop` is called for each request that is not logged. */
  constructor({ log, clock, onDrop }: { log: Log; clock: () => Date; onDrop: () => void }) {
    this.#log = log;
    this.#clock = clock;
    this.#onDrop = onDrop;
    this.#warn = rareWarning(log, 'requests are not logged: one client sends too many requests');
  }

  write(level: 'debug' | 'info' | 'error', { path, failure, ...request }: LoggedRequest): void {
    if (!this.#log.isLevelEnabled(level)) return;
    const { method, status, client } = request;
    const isChange = status < 400 && !READS.has(method);
    if (!isChange && !this.#isAllowed(client)) {
      this.#onDrop();
      this.#warn({ client });
      return;
    }
    // A terminal or a page that shows the line must not run or hide anything.
    const shown = escapeControls(withoutTokens(path)).slice(0, MAX_PATH);
    this.#log[level]({ ...request, path: shown, ...failure }, 'request');
  }

  /** Some subscribers have an IPv6 site with thousands of networks, so a site has a quota too. */
  #isAllowed(client: string): boolean {
    const now = this.#clock().getTime();
    const site = siteKey(client);
    if (site !== undefined && !this.#sites.peek(site, now).allowed) return false;
    if (!this.#quota.take(rateLimitKey(client), now).allowed) return false;
    if (site !== undefined) this.#sites.take(site, now);
    return true;
  }
}
