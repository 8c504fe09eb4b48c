/**
 * Publishes releases, and yanks and deprecates existing ones.
 *
 * A publish has four steps. The route authorizes on the parsed group before them.
 *
 * - Plan (plan-release.ts): `planPublish` lints the bytes again, because the registry does not trust the lint of a
 *   client, and compares the definition with the release before it. Large definitions are planned in a bounded process,
 *   so that they delay no other request.
 * - Judge (trust/judge-submission.ts): if a policy covers the release, a signer that it trusts must have signed it.
 *   Otherwise a function that was signed must be signed by the same signer.
 * - Store (store-release.ts): one transaction writes release, definition, README, bundles, search row, event, and
 *   manifests. Large files and bundles are blobs, which are durable before it.
 * - Report what happened, or what would happen.
 *
 * If a concurrent change comes in between, all steps begin again.
 *
 * @module
 */

import type { PublishResult } from '@krmhub/api/model';
import type { PolicyReader, ReleaseRecord } from '@krmhub/catalog';
import { type Diagnostic, type FunctionName, KrmhubError } from '@krmhub/schema';
import type { WakeableBuilder } from '../catalogs/build/catalog-builder.js';
import type { RecheckToken } from '../http/auth/authorize.js';
import type { Caller } from '../http/auth/caller.js';
import { releaseSummary } from '../http/presentation.js';
import type { Metrics } from '../metrics.js';
import type { Artifact } from '../store/artifacts/artifact-store.js';
import { retryOnConflict } from '../store/retry-on-conflict.js';
import { type PlanDeps, type PlanOptions, planRelease } from './plan-release.js';
import { type StoreDeps, storeRelease } from './store-release.js';
import type { Submission } from './submission.js';
import { type JudgeDeps, judgeSubmission } from './trust/judge-submission.js';

export interface PublishDeps extends PlanDeps, JudgeDeps, StoreDeps {
  store: PlanDeps['store'] & StoreDeps['store'] & PolicyReader;
  snapshotBuilder: WakeableBuilder;
  metrics: Metrics;
}

export interface PublishOptions extends Caller, PlanOptions {
  dryRun: boolean;
  /** The artifact for the tag of the release; by default one is made. */
  artifact?: Artifact;
  /** Called before the release is stored: what comes before can take long. */
  recheck: RecheckToken;
}

type ReleaseName = FunctionName & { release: string };

/** Publishes a release, or reports what that would do. The caller holds the lock of the function. */
export function publishRelease(
  deps: PublishDeps,
  name: ReleaseName,
  submission: Submission,
  options: PublishOptions,
): Promise<PublishResult> {
  return retryOnConflict(() => publishOnce(deps, name, submission, options), {
    onConflict: () => deps.trust.reload(deps.store),
    exhausted() {
      throw concurrentUpdate(name.group, name.kind);
    },
  });
}

async function publishOnce(
  deps: PublishDeps,
  name: ReleaseName,
  submission: Submission,
  options: PublishOptions,
): Promise<PublishResult> {
  const { by, origin, dryRun, artifact, recheck } = options;
  const { plan, current, takedowns } = await planRelease(deps, name, submission, options);
  deps.metrics.publish(dryRun ? `dry-run-${plan.outcome}` : plan.outcome);
  switch (plan.outcome) {
    case 'conflict':
      throw plan.error;
    case 'invalid':
      throw refusal(plan.diagnostics);
    case 'unchanged':
      return report(deps, plan.outcome, plan, dryRun);
    case 'created': {
      const planned = { change: plan.change, current, takedowns, artifact, by };
      const judged = await judgeSubmission(deps, submission, planned);
      if (!dryRun) {
        const change = { ...judged.change, origin };
        await storeRelease(deps, { ...judged, change, files: plan.files }, recheck);
        deps.snapshotBuilder.wake();
      }
      const { release } = judged.change;
      return report(deps, plan.outcome, { release, diagnostics: plan.diagnostics }, dryRun);
    }
  }
}

function report(
  { trust }: PublishDeps,
  outcome: PublishResult['outcome'],
  { release, diagnostics }: { release: ReleaseRecord; diagnostics: Diagnostic[] },
  dryRun: boolean,
): PublishResult {
  const { group, kind } = release;
  return {
    outcome,
    dryRun,
    release: { ...releaseSummary(trust.policies, release, release), group, kind },
    diagnostics,
    catalogs: [],
  };
}

function refusal(diagnostics: readonly Diagnostic[]): KrmhubError {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const count = (noun: string) => `${errors.length} ${noun}${errors.length === 1 ? '' : 's'}`;
  if (errors.every(({ code }) => code === 'publish/breaking')) {
    return new KrmhubError(
      'invalid-document',
      `the definition has ${count('breaking change')} since the previous release`,
      {
        diagnostics,
        hint: 'List all changes with `krmhub diff`. To publish anyway, use `krmhub publish --allow-breaking`.',
      },
    );
  }
  return new KrmhubError('invalid-document', `the submission has ${count('error')}`, {
    diagnostics,
    hint: 'Fix the errors, then publish again.',
  });
}

export function concurrentUpdate(group: string, kind: string): KrmhubError {
  return new KrmhubError('unavailable', `${group}/${kind}: concurrent update`, {
    hint: 'Nothing was stored. Try again.',
  });
}
