import { isCheckDue, type OwnerClaimRecord } from '@krmhub/catalog';
import type { Log } from '../log.js';
import { RepeatedWork } from '../workers/processes/repeated-work.js';
import { type OwnerClaimDeps, verifyClaim } from './owner-claims.js';

/** Milliseconds between two looks at which proofs are due. A process may lead for less than an hour. */
const EVERY_MILLISECONDS = 600_000;

/** Looks for the proofs of claims again, every week, and ends claims whose proof stays missing. */
export class OwnerChecks extends RepeatedWork {
  readonly #deps: OwnerClaimDeps & { log: Log };

  constructor(deps: OwnerClaimDeps & { log: Log }) {
    const { log } = deps;
    const failed = 'cannot check the owners of groups';
    super({ pause: EVERY_MILLISECONDS, isFirstNow: false, log, failed });
    this.#deps = deps;
  }

  /** Checks what is due, one claim after the other. Without a public URL, there is nothing to look for. */
  override async run(): Promise<void> {
    const { store, clock, config, log } = this.#deps;
    if (config.publicUrl === undefined) return;
    for (const claim of await store.ownerClaims()) {
      if (this.isStopped) return;
      if (!isCheckDue(claim, clock())) continue;
      // The others are due too.
      await this.#check(claim).catch((error: unknown) => {
        log.error({ err: error, group: claim.group }, 'cannot check the owner of a group');
      });
    }
  }

  async #check({ group, team }: OwnerClaimRecord): Promise<void> {
    const { log } = this.#deps;
    const checked = await verifyClaim(this.#deps, group);
    if (checked === undefined)
      log.warn({ group, team }, 'the claim of a group ended: its proof stayed missing');
    else if (checked.problem !== undefined)
      log.warn({ group, team, problem: checked.problem }, 'a proof is missing');
  }
}
