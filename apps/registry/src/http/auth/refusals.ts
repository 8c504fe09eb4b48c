import { type ActRecorder, ANONYMOUS, type NewAuditRow } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import { clientNetwork } from '../client-address.js';
import type { RegistryContext } from '../context.js';
import { callerOf, requestOrigin } from './caller.js';

export interface RefusalDeps {
  store: ActRecorder;
  clock: () => Date;
  log: Log;
}

/** Refused requests of an hour of one token, or of one network without a token. */
interface Count {
  /** The row for those that have none. */
  row: Pick<NewAuditRow, 'by' | 'origin'>;
  recorded: number;
  counted: number;
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
const OTHERS: Count['row'] = { by: ANONYMOUS.name };

/**
 * Records refused requests in the audit log. Requests cost a client nothing, so their rows are limited: the first ones
 * of a token in an hour have a row each, and so have failed sign-ins from a network. Others, and the writes of clients
 * without a known token, are counted by token or network, with one row at the end of the hour. The counts are lost if the
 * process is killed.
 */
export class Refusals {
  readonly #deps: RefusalDeps;
  #counts = new Map<string, Count>();
  #hour = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: RefusalDeps) {
    this.#deps = deps;
  }

  /** Adds the rows of counts soon after their hour, until `stop`. */
  start(): void {
    this.#timer = setInterval(() => void this.#endHour(), SERVER_LIMITS.countedRefusalsMilliseconds);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flush();
  }

  /** Records a request if its response refused it. */
  async record(c: RegistryContext): Promise<void> {
    const { status } = c.res;
    const isRefused = status === 404 ? c.get('isRefusedAsAbsent') === true : status === 401 || status === 403;
    if (!isRefused) return;
    const actor = c.get('actor');
    const attempt = c.get('attempt') ?? {
      action: 'request.refuse' as const,
      object: `${c.req.method} ${c.req.path}`,
    };
    const isSignIn = attempt.action === 'operator.sign-in';
    if (actor === undefined && !isSignIn && READS.has(c.req.method)) return;
    await this.#endHour();
    const count = this.#count(c);
    const isNamed = actor !== undefined || isSignIn;
    if (!isNamed || count.recorded >= SERVER_LIMITS.recordedRefusalsPerHour) {
      count.counted += 1;
      return;
    }
    count.recorded += 1;
    const detail = { status, ...defined({ reason: c.error?.message }) };
    const caller =
      actor === undefined ? { by: ANONYMOUS.name, origin: requestOrigin(c) } : callerOf(c, actor);
    await this.#append({ ...caller, ...attempt, detail });
  }

  #count(c: RegistryContext): Count {
    const actor = c.get('actor');
    const address = clientNetwork(c.get('client'));
    const row =
      actor === undefined
        ? { by: ANONYMOUS.name, origin: { address } }
        : { by: actor.name, origin: { credential: actor.id } };
    let key = actor?.id ?? address;
    const isFull = this.#counts.size >= SERVER_LIMITS.maxCountedRefusals && !this.#counts.has(key);
    if (isFull) key = '';
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { row: isFull ? OTHERS : row, recorded: 0, counted: 0 };
      this.#counts.set(key, count);
    }
    return count;
  }

  async #endHour(): Promise<void> {
    const hour = this.#deps.clock().toISOString().slice(0, 13);
    if (hour === this.#hour) return;
    await this.#flush();
    this.#hour = hour;
  }

  async #flush(): Promise<void> {
    const counts = this.#counts;
    const since = `${this.#hour}:00:00.000Z`;
    this.#counts = new Map();
    for (const { row, counted } of counts.values()) {
      if (counted === 0) continue;
      await this.#append({
        ...row,
        action: 'request.refuse',
        object: 'requests',
        detail: { count: counted, since },
      });
    }
  }

  async #append(row: Omit<NewAuditRow, 'at' | 'outcome'>): Promise<void> {
    const { store, clock, log } = this.#deps;
    try {
      await store.recordAct({ ...row, at: clock().toISOString(), outcome: 'refused' });
    } catch (error) {
      // The request is refused anyway.
      log.error({ err: error }, 'cannot record a refused request in the audit log');
    }
  }
}
