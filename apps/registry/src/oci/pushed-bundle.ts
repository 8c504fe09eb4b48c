import { BUNDLE_LIMITS } from '@krmhub/catalog';
import { bundleLayer, type OciDigest, OciError, readStoredManifest } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RecheckToken } from '../http/auth/authorize.js';
import type { Caller } from '../http/auth/caller.js';
import { attachBundle } from '../publish/trust/attach-bundle.js';
import type { SubmittedBundle } from '../publish/trust/release-bundles.js';
import { isFallbackTag } from '../store/artifacts/repositories.js';
import { storedBytes } from '../store/artifacts/stored-blob.js';
import type { OciDeps } from './oci-deps.js';
import { type PushedManifest, refuseUnknown } from './pushed-manifest.js';

export interface ReferrerBundles {
  /** Bundles that the publisher pushed, which must be evidence. */
  own: SubmittedBundle[];
  /** The first bundles of others, as far as the limits allow. */
  others: SubmittedBundle[];
}

/**
 * Returns the bundles that refer to a manifest, those of the publisher first: others cannot crowd them out. Rejects
 * with `too-large` if the publisher pushed more than the limits allow.
 */
export async function referrerBundles(
  deps: OciDeps,
  repository: string,
  subject: OciDigest,
  pushedBy: string,
): Promise<ReferrerBundles> {
  const own = await readBundles(deps, repository, subject, { pushedBy });
  if (own.isCut) {
    throw new KrmhubError(
      'too-large',
      `the bundles of ${subject} exceed a limit: ${BUNDLE_LIMITS.maxPerRelease} bundles, ${BUNDLE_LIMITS.maxBytes} bytes for each, and ${BUNDLE_LIMITS.maxBytesPerTag} bytes in total`,
      { hint: 'Delete unused referrers by digest.' },
    );
  }
  const all = await readBundles(deps, repository, subject, {});
  const digests = new Set(own.bundles.map(({ manifest }) => manifest));
  return { own: own.bundles, others: all.bundles.filter(({ manifest }) => !digests.has(manifest)) };
}

export function tooLargeBundle(): OciError {
  return new OciError('DENIED', `the bundle exceeds ${BUNDLE_LIMITS.maxBytes} bytes`);
}

async function readBundles(
  deps: OciDeps,
  repository: string,
  subject: OciDigest,
  options: { pushedBy?: string },
): Promise<{ bundles: SubmittedBundle[]; isCut: boolean }> {
  const { store } = deps;
  const limit = BUNDLE_LIMITS.maxPerRelease;
  const referrers = await store.referrers(repository, subject, { ...options, after: '', limit: limit + 1 });
  const bundles: SubmittedBundle[] = [];
  let isCut = referrers.length > limit;
  let total = 0;
  for (const { digest, mediaType } of referrers.slice(0, limit)) {
    const stored = await store.manifest(repository, digest);
    if (stored === undefined) continue;
    const manifest = readStoredManifest(stored.bytes, mediaType);
    const found = manifest && (await bundleIn(deps, repository, manifest));
    if (found === undefined) continue;
    total += found === 'too-large' ? 0 : found.byteLength;
    if (found === 'too-large' || total > BUNDLE_LIMITS.maxBytesPerTag) isCut = true;
    else bundles.push({ bytes: found, manifest: digest });
  }
  return { bundles, isCut };
}

/** Returns the bundle of a pushed manifest; undefined for other manifests, and if its blob is missing. */
export async function bundleIn(
  deps: OciDeps,
  repository: string,
  manifest: PushedManifest['manifest'],
): Promise<Uint8Array | 'too-large' | undefined> {
  const layer = manifest.kind === 'image' ? bundleLayer(manifest.image) : undefined;
  if (layer === undefined) return undefined;
  return layer.size > BUNDLE_LIMITS.maxBytes ? 'too-large' : storedBytes(deps, repository, layer.digest);
}

/**
 * Attaches a pushed bundle to an existing release, in the transaction that stores it. Returns true if it did. Returns
 * false if it is not a bundle of a release, or adds no evidence; then it is stored as any other manifest. A bundle that
 * is not evidence is DENIED, as in the HTTP API.
 */
export async function attachPushed(
  deps: OciDeps,
  { repository, group, kindFolded }: { repository: string; group: string; kindFolded: string },
  pushed: PushedManifest,
  { tags, caller, recheck }: { tags: readonly string[]; caller: Caller; recheck: RecheckToken },
): Promise<boolean> {
  const { record, manifest, needed } = pushed;
  if (record.subject === undefined) return false;
  const releases = (await deps.store.listManifestTags(repository, record.subject)).filter(
    (tag) => !isFallbackTag(tag),
  );
  if (releases.length === 0) return false;
  const bytes = await bundleIn(deps, repository, manifest);
  if (bytes === undefined) return false;
  if (bytes === 'too-large') {
    throw tooLargeBundle();
  }
  const artifact = { repository, tags, manifest: record, needed, blobs: [] };
  const given = { bytes, manifest: record.digest };
  const outcomes = new Set<'changed' | 'unchanged'>();
  let refusal: KrmhubError | undefined;
  // Several releases may have the same manifest. A bundle refers to one of them.
  for (const release of releases) {
    const name = { group, kind: kindFolded, release };
    try {
      const { outcome } = await refuseUnknown(() =>
        deps.functionLocks.run(name, recheck, () =>
          attachBundle(deps, name, given, { ...caller, pushed: artifact, recheck }),
        ),
      );
      outcomes.add(outcome);
    } catch (error) {
      if (!(error instanceof KrmhubError && error.code === 'untrusted')) throw error;
      refusal ??= error;
    }
  }
  if (outcomes.size > 0 || refusal === undefined) return outcomes.has('changed');
  throw new OciError('DENIED', refusal.message, {
    cause: refusal,
    ...defined({ hint: refusal.hint }),
  });
}
