import type { AuditPruner, ConsumerPruner } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { RepeatedWork } from '../workers/processes/repeated-work.js';

export interface AuditKeeperDeps {
  store: AuditPruner & ConsumerPruner;
  clock: () => Date;
  log: Log;
  config: {
    /** Days for which rows are stored; absent or 0 for no limit. */
    auditDays?: number;
  };
}

/**
 * Once a day and at start, prunes the audit log and the reports of consumers, and writes its head to the log of the registry: who can change the
 * database cannot change what a log collector has, so a chain that was written again does not match.
 */
export class AuditKeeper extends RepeatedWork {
  readonly #deps: AuditKeeperDeps;

  constructor(deps: AuditKeeperDeps) {
    const { log } = deps;
    const failed = 'cannot prune the audit log';
    super({ pause: SERVER_LIMITS.auditHeadMilliseconds, isFirstNow: true, log, failed });
    this.#deps = deps;
  }

  override async run(): Promise<void> {
    const { store, clock, log, config } = this.#deps;
    const { auditDays = 0 } = config;
    const now = clock();
    const limit: number = SERVER_LIMITS.prunedAuditRows;
    const before = new Date(now.getTime() - auditDays * 86_400_000).toISOString();
    for (let deleted = limit; auditDays > 0 && deleted === limit && !this.isStopped; ) {
      deleted = await store.pruneAudit({ before, at: now.toISOString(), limit });
    }
    await store.deleteConsumers(new Date(now.getTime() - SERVER_LIMITS.consumerMilliseconds).toISOString());
    const head = await store.auditHead();
    if (head !== undefined) log.info(head, 'head of the audit log');
  }
}
