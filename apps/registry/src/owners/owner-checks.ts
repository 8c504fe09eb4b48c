import { isCheckDue } from '@krmhub/catalog';
import type { Log } from '../log.js';
import { type OwnerClaimDeps, verifyClaim } from './owner-claims.js';

/** Milliseconds between two looks at which proofs are due. */
const EVERY_MILLISECONDS = 3_600_000;

/** Looks for the proofs of claims again, every week, and ends claims whose proof stays missing. */
export class OwnerChecks {
  readonly #deps: OwnerClaimDeps & { log: Log };
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(deps: OwnerClaimDeps & { log: Log }) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#timer = setTimeout(() => {
      this.#running = this.run()
        .catch((error: unknown) => this.#deps.log.error({ err: error }, 'cannot check the owners of groups'))
        .finally(() => {
          if (!this.#stopped) this.start();
        });
    }, EVERY_MILLISECONDS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Checks what is due, one claim after the other. Without a public URL, there is nothing to look for. */
  async run(): Promise<void> {
    const { store, clock, config, log } = this.#deps;
    if (config.publicUrl === undefined) return;
    for (const claim of await store.ownerClaims()) {
      if (this.#stopped) return;
      if (!isCheckDue(claim, clock())) continue;
      const checked = await verifyClaim(this.#deps, claim.group);
      const { group, team } = claim;
      if (checked === undefined)
        log.warn({ group, team }, 'the claim of a group ended: its proof stayed missing');
      else if (checked.problem !== undefined)
        log.warn({ group, team, problem: checked.problem }, 'a proof is missing');
    }
  }
}
