import type { BlobStore, PolicyReader } from '@krmhub/catalog';
import { type FunctionChange, type FunctionRecord, planAttach, type ReleaseRecord } from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { readManifest, type Subject, VERSION } from '@krmhub/oci';
import { type FunctionName, KrmhubError } from '@krmhub/schema';
import type { SignedRelease } from '@krmhub/signing';
import type { WakeableBuilder } from '../../catalogs/build/catalog-builder.js';
import type { RecheckToken } from '../../http/auth/authorize.js';
import type { Caller } from '../../http/auth/caller.js';
import type { Artifact, ArtifactStore } from '../../store/artifacts/artifact-store.js';
import { functionRepository } from '../../store/artifacts/repositories.js';
import type { FindStore } from '../../store/find-record.js';
import { findDisplayedRelease, findRelease } from '../../store/find-record.js';
import { retryOnConflict } from '../../store/retry-on-conflict.js';
import type { Turns } from '../../workers/locks/turns.js';
import type { BytesLock } from '../../workers/processes/processes.js';
import { concurrentUpdate } from '../publish-release.js';
import {
  bundleToStore,
  type StoredBundle,
  type SubmittedBundle,
  verifySubmittedBundle,
} from './release-bundles.js';
import type { SigningTrust } from './signing-trust.js';

export interface AttachDeps {
  store: FindStore & ArtifactStore & ManifestReader & PolicyReader;
  trust: SigningTrust;
  turns: Turns;
  bytesLock: BytesLock;
  artifacts: BlobStore;
  snapshotBuilder: WakeableBuilder;
  clock: () => Date;
  config: {
    /** For the blobs and manifests of one repository; absent or 0 for no limit. */
    repositoryMebibytes?: number;
  };
}

export interface AttachedBundle {
  outcome: 'changed' | 'unchanged';
  release: ReleaseRecord;
}

/**
 * Adds a bundle to an existing release. The caller holds the lock of the function. `pushed` is the manifest of a
 * bundle that was pushed to the repository; it is stored with the change. `dryRun` changes nothing. `recheck` is called
 * before the bundle is stored. Rejects with `untrusted` if the bundle is not evidence.
 */
export async function attachBundle(
  deps: AttachDeps,
  name: FunctionName & { release: string },
  given: SubmittedBundle,
  {
    by,
    origin,
    pushed,
    dryRun = false,
    recheck,
  }: Caller & { pushed?: Artifact; dryRun?: boolean; recheck: RecheckToken },
): Promise<AttachedBundle> {
  const attachOnce = async (): Promise<AttachedBundle> => {
    const { fn, release } = await findRelease(deps.store, name);
    const planned = await plan(deps, fn, release, given, by);
    if (planned.change === undefined) return { outcome: 'unchanged', release };
    const { artifact = pushed } = planned;
    const change = { ...planned.change, origin };
    await refuseFull(deps, artifact);
    if (dryRun) return { outcome: 'changed', release: change.release };
    await deps.bytesLock.read(async () => {
      if (planned.blob !== undefined) await deps.artifacts.put(planned.blob);
      await recheck('if-old');
      await deps.store.commitFunction(change, artifact === undefined ? [] : [artifact]);
    });
    // A catalog may take the release now that it is signed.
    deps.snapshotBuilder.wake();
    return { outcome: 'changed', release: change.release };
  };
  return retryOnConflict(attachOnce, {
    onConflict: () => deps.trust.reload(deps.store),
    exhausted() {
      throw concurrentUpdate(name.group, name.kind);
    },
  });
}

/** The quota of a repository does not limit what the registry itself stores, only what clients add. */
async function refuseFull({ store, config }: AttachDeps, artifact: Artifact | undefined): Promise<void> {
  const quota = (config.repositoryMebibytes ?? 0) * 1_048_576;
  if (quota === 0 || artifact === undefined) return;
  const added = artifact.manifest.size + artifact.blobs.reduce((sum, { size }) => sum + size, 0);
  const bytes = (await store.countBytes(artifact.repository)) + added;
  if (bytes <= quota) return;
  throw new KrmhubError(
    'too-large',
    `repository ${artifact.repository}: quota exceeded: ${bytes} of ${quota} bytes`,
    { hint: 'Ask the operator to raise the quota (KRMHUB_REPOSITORY_MEBIBYTES).' },
  );
}

async function plan(
  { store, trust, turns, clock }: AttachDeps,
  fn: FunctionRecord,
  release: ReleaseRecord,
  given: SubmittedBundle,
  by: string,
): Promise<{ change?: FunctionChange } & Pick<StoredBundle, 'artifact' | 'blob'>> {
  const { signed, subject } = await signedRelease(store, release);
  const found = await turns.run(() => verifySubmittedBundle(trust, signed, given));
  const label = `${release.group}/${release.kind}@${release.release}`;
  if ('problem' in found) {
    throw new KrmhubError('untrusted', `cannot attach the bundle to ${label}: ${found.problem}`, {
      hint: 'Check the signature with `krmhub verify`, and the trusted signers with `krmhub policy list`.',
    });
  }
  const now = clock().toISOString();
  const { record, ...stored } = bundleToStore(release, subject, found, { at: now, by });
  const shown = await findDisplayedRelease(store, fn, release);
  const planned = planAttach({
    current: fn,
    takedowns: await store.takedowns(fn.group, fn.kind),
    release,
    displayed: shown,
    bundle: record,
    policies: trust.policies,
    now,
    by,
  });
  if (planned.outcome === 'unchanged') return {};
  const change = { ...planned.change, expectedPolicies: trust.revision };
  return { change, ...stored };
}

/** Returns the digests that signatures of an existing release must cover, with the manifest that is their subject. */
export async function signedRelease(
  store: ManifestReader,
  { group, kind, release, digest }: ReleaseRecord,
): Promise<{ signed: SignedRelease; subject: Subject }> {
  const stored = await store.manifest(functionRepository({ group, kind }), release);
  if (stored === undefined) throw new Error(`${group}/${kind}@${release} has no manifest`);
  const manifest = readManifest(stored.bytes, stored.mediaType);
  const { annotations } = manifest.kind === 'image' ? manifest.image : manifest.index;
  const version = annotations?.[VERSION];
  return {
    signed: { group, kind, release, definition: digest, manifests: [{ digest: stored.digest, version }] },
    subject: stored,
  };
}
