/** The second step of a publish: whether its signatures satisfy the policies. */

import { type FunctionChange, type FunctionRecord, planTrust } from '@krmhub/catalog';
import { VERSION } from '@krmhub/oci';
import { KrmhubError, sha256, type Takedown } from '@krmhub/schema';
import type { Artifact } from '../../store/artifacts/artifact-store.js';
import { releaseArtifact } from '../../store/artifacts/release-artifact.js';
import type { Turns } from '../../workers/locks/turns.js';
import type { Submission } from '../submission.js';
import {
  bundleToStore,
  type SubmittedBundle,
  type VerifiedBundle,
  verifySubmittedBundles,
} from './release-bundles.js';
import type { SigningTrust } from './signing-trust.js';

export interface JudgeDeps {
  trust: SigningTrust;
  turns: Turns;
}

export interface PlannedSubmission {
  change: FunctionChange;
  /** The function before the change. */
  current: FunctionRecord | undefined;
  takedowns: readonly Takedown[];
  /** The artifact for the tag of the release; by default one is made. */
  artifact: Artifact | undefined;
  by: string;
}

export interface JudgedSubmission {
  change: FunctionChange;
  artifacts: Artifact[];
  /** Bundles that are no rows. */
  bundles: Uint8Array[];
}

/** Adds the bundles to the change if they satisfy the policies. Rejects with `untrusted` otherwise. */
export async function judgeSubmission(
  { trust, turns }: JudgeDeps,
  { readme, bundles: given = [], others = [] }: Submission,
  { change: planned, current, takedowns, artifact, by }: PlannedSubmission,
): Promise<JudgedSubmission> {
  const { release } = planned;
  const existing =
    artifact ??
    releaseArtifact(
      release,
      readme === undefined ? undefined : { digest: sha256(readme), size: readme.byteLength },
    );
  const { group, kind, release: version, digest: definition } = release;
  const { digest, annotations } = existing.manifest;
  const verify = (bundles: readonly SubmittedBundle[]) =>
    verifySubmittedBundles(
      { trust, turns },
      { group, kind, release: version, definition, manifests: [{ digest, version: annotations?.[VERSION] }] },
      bundles,
    );
  const own = await verify(given);
  if (own.problems.length > 0) {
    throw new KrmhubError(
      'untrusted',
      `cannot publish ${group}/${kind}@${version}: ${own.problems.join('; ')}`,
      {
        hint: 'Create a bundle for this release with `krmhub publish --key` or `krmhub sign --release`.',
      },
    );
  }
  const found = await verify(others);
  const stored = (bundles: readonly VerifiedBundle[]) =>
    bundles.map((bundle) =>
      bundleToStore(release, existing.manifest, bundle, { at: release.publishedAt, by }),
    );
  const sent = stored(own.found);
  const change = planTrust({
    change: { ...planned, expectedPolicies: trust.revision },
    bundles: sent.map(({ record }) => record),
    others: stored(found.found).map(({ record }) => record),
    problems: found.problems,
    policies: trust.policies,
    current,
    takedowns,
  });
  if (change instanceof KrmhubError) throw change;
  return {
    change,
    artifacts: [existing, ...sent.flatMap((one) => one.artifact ?? [])],
    bundles: sent.flatMap(({ blob }) => blob ?? []),
  };
}
