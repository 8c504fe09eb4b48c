import type { AuditStore } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';

export interface AuditKeeperDeps {
  store: Pick<AuditStore, 'auditHead' | 'pruneAudit'>;
  clock: () => Date;
  log: Log;
  config: {
    /** Days for which rows are stored; absent or 0 for no limit. */
    auditDays?: number;
  };
}

/**
 * Once a day and at start, prunes the audit log, and writes its head to the log of the registry: who can change the
 * database cannot change what a log collector has, so a chain that was written again does not match.
 */
export class AuditKeeper {
  readonly #deps: AuditKeeperDeps;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(deps: AuditKeeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#running = this.run()
      .catch((error: unknown) => this.#deps.log.error({ err: error }, 'cannot prune the audit log'))
      .finally(() => {
        if (this.#stopped) return;
        this.#timer = setTimeout(() => this.start(), SERVER_LIMITS.auditHeadMilliseconds);
        this.#timer.unref();
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async run(): Promise<void> {
    const { store, clock, log, config } = this.#deps;
    const { auditDays = 0 } = config;
    const now = clock();
    const limit: number = SERVER_LIMITS.prunedAuditRows;
    const before = new Date(now.getTime() - auditDays * 86_400_000).toISOString();
    for (let deleted = limit; auditDays > 0 && deleted === limit && !this.#stopped; ) {
      deleted = await store.pruneAudit({ before, at: now.toISOString(), limit });
    }
    const head = await store.auditHead();
    if (head !== undefined) log.info(head, 'head of the audit log');
  }
}
