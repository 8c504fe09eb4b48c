import type { PublishResult } from '@krmhub/api/model';
import type { FunctionName } from '@krmhub/schema';
import { releaseSummary } from '../http/presentation.js';
import { type PublishDeps, type PublishOptions, publishRelease } from './publish-release.js';
import type { Submission } from './submission.js';
import { type AttachDeps, attachBundle } from './trust/attach-bundle.js';

/**
 * Publishes a release. If it exists with the same bytes, adds the bundles to it, so that no signature is dropped
 * silently. Rejects with `untrusted` if a bundle is not evidence. The caller holds the lock of the function.
 */
export async function publishOrAttach(
  deps: PublishDeps & AttachDeps,
  name: FunctionName & { release: string },
  submission: Submission,
  options: PublishOptions,
): Promise<PublishResult> {
  const published = await publishRelease(deps, name, submission, options);
  if (published.outcome !== 'unchanged') return published;
  const { group, kind, release } = published.release;
  let isChanged = false;
  for (const bundle of submission.bundles ?? []) {
    const attached = await attachBundle(deps, { group, kind, release }, bundle, options);
    if (attached.outcome === 'unchanged') continue;
    isChanged = true;
    const summary = releaseSummary(deps.trust.policies, attached.release, attached.release);
    published.release = { ...summary, group, kind };
  }
  return isChanged ? { ...published, outcome: 'attached' } : published;
}
