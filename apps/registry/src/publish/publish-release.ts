import type { BlobStore, FunctionStore, PolicyStore } from '@krmhub/catalog';
import type { CatalogBuilder } from '../catalogs/build/catalog-builder.js';
import type { Metrics } from '../metrics.js';
import type { Artifact, ArtifactStore } from '../store/artifacts/artifact-store.js';
import type { Turns } from '../workers/locks/turns.js';
import type { BytesLock } from '../workers/processes/processes.js';
import type { Planner } from './planner.js';
import type { SigningTrust } from './trust/signing-trust.js';
/**
 * Publishing a release. The route authorizes on the parsed group, then this file calls `planPublish`.
 *
 * - The plan lints the bytes again, because the registry does not trust the lint of a client, and compares the
 *   definition with the release before it.
 * - Large definitions are planned in a bounded process (planner.ts), so that they delay no other request.
 * - `planTrust` runs between plan and commit. If a policy covers the release, a signer that it trusts must have signed
 *   it. Otherwise a function that was signed must be signed by the same signer.
 * - One transaction writes release, definition, README, search row, event, and manifest. Large files and bundles are
 *   blobs, which are durable before it.
 */

import type { PublishResult } from '@krmhub/api/model';
import {
  displayedRelease,
  type FunctionChange,
  type FunctionRecord,
  findPredecessor,
  planTrust,
  type ReleaseRecord,
  RevisionConflict,
} from '@krmhub/catalog';
import { VERSION } from '@krmhub/oci';
import { type Diagnostic, type FunctionName, KrmhubError, sha256, type Takedown } from '@krmhub/schema';
import { releaseSummary } from '../http/presentation.js';
import { SERVER_LIMITS } from '../limits.js';
import { releaseArtifact } from '../store/artifacts/release-artifact.js';
import type { Submission } from './submission.js';
import {
  bundleToStore,
  type SubmittedBundle,
  type VerifiedBundle,
  verifySubmittedBundles,
} from './trust/release-bundles.js';

export interface PublishDeps {
  store: Pick<FunctionStore, 'function' | 'release' | 'takedowns'> &
    Pick<ArtifactStore, 'commitFunction'> &
    Pick<PolicyStore, 'policies'>;
  /** Definitions and READMEs that are no rows. */
  blobs: Pick<BlobStore, 'put'>;
  /** Size up to which definitions and READMEs are rows, in bytes. */
  maxFileRowBytes: number;
  /** Blobs of repositories, bundles among them. */
  artifacts: Pick<BlobStore, 'put'>;
  planner: Pick<Planner, 'plan'>;
  trust: SigningTrust;
  turns: Pick<Turns, 'run'>;
  /** Locked for reading while bytes are stored and their rows are not. */
  bytesLock: Pick<BytesLock, 'read'>;
  snapshotBuilder: Pick<CatalogBuilder, 'wake'>;
  metrics: Pick<Metrics, 'publish'>;
  clock: () => Date;
}

export interface PublishOptions {
  by: string;
  dryRun: boolean;
  allowBreaking: boolean;
  /** The kind is in lower case, as in repositories. */
  kindFolded?: boolean;
  /** The artifact for the tag of the release; by default one is made. */
  artifact?: Artifact;
}

/** Publishes a release, or reports what that would do. The caller holds the lock of the function. */
export async function publishRelease(
  deps: PublishDeps,
  { group, kind, release }: FunctionName & { release: string },
  submission: Submission,
  { by, dryRun, allowBreaking, kindFolded, artifact }: PublishOptions,
): Promise<PublishResult> {
  const { store, clock, metrics, snapshotBuilder: builder } = deps;
  const response = (
    outcome: PublishResult['outcome'],
    record: ReleaseRecord,
    diagnostics: PublishResult['diagnostics'],
  ): PublishResult => ({
    outcome,
    dryRun,
    release: {
      ...releaseSummary(deps.trust.policies, record, record),
      group: record.group,
      kind: record.kind,
    },
    diagnostics,
    catalogs: [],
  });

  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const current = await store.function(group, kind);
    const takedowns = await store.takedowns(group, kind);
    const named = releaseReader(store, current);
    const predecessor = findPredecessor(current, release);
    const plan = await deps.planner.plan({
      ...(kindFolded === true
        ? { name: { group, kind: current?.kind ?? kind }, kindFolded: current === undefined }
        : { name: { group, kind } }),
      release,
      ...submission,
      current,
      currentRelease: await named(release),
      displayed: current && (await named(displayedRelease(current.releases).release)),
      takedowns,
      predecessor: predecessor === undefined ? undefined : await named(predecessor),
      allowBreaking,
      now: clock().toISOString(),
      by,
    });
    metrics.publish(dryRun ? `dry-run-${plan.outcome}` : plan.outcome);
    if (plan.outcome === 'conflict') throw plan.error;
    if (plan.outcome === 'invalid') throw refusal(plan.diagnostics);
    if (plan.outcome === 'unchanged') return response('unchanged', plan.release, plan.diagnostics);
    const isRow = ({ byteLength }: Uint8Array) => byteLength <= deps.maxFileRowBytes;
    const { change, artifacts, bundles } = await signed(deps, {
      planned: plan.change,
      current,
      takedowns,
      submission,
      artifact,
      by,
    });
    if (dryRun) return response('created', change.release, plan.diagnostics);
    try {
      await deps.bytesLock.read(async () => {
        // Durable before the transaction that names them.
        await allDone([
          ...plan.files.filter((file) => !isRow(file)).map((file) => deps.blobs.put(file)),
          ...bundles.map((bundle) => deps.artifacts.put(bundle)),
        ]);
        await store.commitFunction(change, artifacts, plan.files.filter(isRow));
      });
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      await deps.trust.reload(store);
      continue;
    }
    builder.wake();
    return response('created', change.release, plan.diagnostics);
  }
  throw concurrentUpdate(group, kind);
}

/** Returns a function that reads releases, each once: the displayed one is mostly the predecessor too. */
function releaseReader(
  store: Pick<FunctionStore, 'release'>,
  current: FunctionRecord | undefined,
): (name: string) => Promise<ReleaseRecord | undefined> {
  const read = new Map<string, Promise<ReleaseRecord | undefined>>();
  return async (name) => {
    if (current === undefined || !current.releases.some(({ release }) => release === name)) return undefined;
    const reading = read.get(name) ?? store.release(current.group, current.kind, name);
    read.set(name, reading);
    return reading;
  };
}

/** Waits for all, also if one fails: the caller holds a lock while they run. Rejects with the first error. */
async function allDone(running: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(running);
  await Promise.all(running);
}

interface SignedInput {
  planned: FunctionChange;
  current: FunctionRecord | undefined;
  takedowns: readonly Takedown[];
  submission: Submission;
  artifact: Artifact | undefined;
  by: string;
}

/** Adds the bundles to the change if they satisfy the policies. */
async function signed(
  { trust, turns }: Pick<PublishDeps, 'trust' | 'turns'>,
  { planned, current, takedowns, submission, artifact, by }: SignedInput,
): Promise<{ change: FunctionChange; artifacts: Artifact[]; bundles: Uint8Array[] }> {
  const { release } = planned;
  const { readme, bundles: given = [], others = [] } = submission;
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
    bundles: own.found.flatMap(({ bytes, manifest }) => (manifest === undefined ? [bytes] : [])),
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

/** Returns the lock key of a function. Functions whose kinds differ only by case are the same. */
export function functionLockKey({ group, kind }: FunctionName): string {
  return `${group}/${kind.toLowerCase()}`;
}

export function concurrentUpdate(group: string, kind: string): KrmhubError {
  return new KrmhubError('unavailable', `${group}/${kind}: concurrent update`, {
    hint: 'Nothing was stored. Try again.',
  });
}
