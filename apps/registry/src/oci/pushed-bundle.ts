import { applicablePolicies, BUNDLE_LIMITS, type TokenRecord } from '@krmhub/catalog';
import { bundleLayer, type OciDigest, OciError, readManifest } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { isFallbackTag } from '../artifacts/repositories.js';
import { storedBytes } from '../artifacts/stored-blob.js';
import { attachBundle } from '../publish/attach-bundle.js';
import { functionLockKey } from '../publish/publish-release.js';
import type { SubmittedBundle } from '../publish/release-bundles.js';
import type { OciDeps } from './oci-deps.js';
import { type PushedManifest, refuseUnknown } from './pushed-manifest.js';

/** Returns the bundles that refer to a manifest. Skips invalid and oversized ones. */
export async function referrerBundles(
  deps: OciDeps,
  repository: string,
  subject: OciDigest,
): Promise<SubmittedBundle[]> {
  const { store } = deps;
  const referrers = await store.referrers(repository, subject, {
    after: '',
    limit: BUNDLE_LIMITS.maxPerRelease,
  });
  const bundles: SubmittedBundle[] = [];
  let total = 0;
  for (const { digest, mediaType } of referrers) {
    const stored = await store.manifest(repository, digest);
    if (stored === undefined) continue;
    const bytes = await bundleIn(deps, repository, readManifest(stored.bytes, mediaType));
    if (bytes === undefined) continue;
    total += bytes.byteLength;
    if (total > BUNDLE_LIMITS.maxBytesPerTag) break;
    bundles.push({ bytes, manifest: digest });
  }
  return bundles;
}

async function bundleIn(
  deps: OciDeps,
  repository: string,
  manifest: PushedManifest['manifest'],
): Promise<Uint8Array | undefined> {
  const layer = manifest.kind === 'image' ? bundleLayer(manifest.image) : undefined;
  if (layer === undefined || layer.size > BUNDLE_LIMITS.maxBytes) return undefined;
  return storedBytes(deps, repository, layer.digest);
}

/**
 * Attaches a pushed bundle to an existing release, in the transaction that stores it. Returns true if it did.
 * Returns false if it is not a bundle of a release, or if no policy covers it and it cannot be verified; then
 * it is stored as any other manifest. If a policy covers the release, an invalid bundle is DENIED.
 */
export async function attachPushed(
  deps: OciDeps,
  { repository, group, kindFolded }: { repository: string; group: string; kindFolded: string },
  pushed: PushedManifest,
  { tags, token }: { tags: readonly string[]; token: TokenRecord },
): Promise<boolean> {
  const { record, manifest, needed } = pushed;
  if (record.subject === undefined) return false;
  const bytes = await bundleIn(deps, repository, manifest);
  if (bytes === undefined) return false;
  const releases = (await deps.store.listManifestTags(repository, record.subject)).filter(
    (tag) => !isFallbackTag(tag),
  );
  const artifact = { repository, tags, manifest: record, needed, blobs: [] };
  const given = { bytes, manifest: record.digest };
  let isStored = false;
  let refusal: KrmhubError | undefined;
  // Several releases may have the same manifest. A bundle refers to one of them.
  for (const release of releases) {
    const name = { group, kind: kindFolded, release };
    try {
      const { outcome } = await refuseUnknown(() =>
        deps.functionLocks.run(functionLockKey(name), () =>
          attachBundle(deps, name, given, { by: token.name, pushed: artifact }),
        ),
      );
      isStored ||= outcome === 'changed';
    } catch (error) {
      if (!(error instanceof KrmhubError && error.code === 'untrusted')) throw error;
      if (applicablePolicies(deps.trust.policies, name).length > 0) refusal ??= error;
    }
  }
  if (isStored || refusal === undefined) return isStored;
  throw new OciError('DENIED', refusal.message, {
    cause: refusal,
    ...(refusal.hint === undefined ? {} : { hint: refusal.hint }),
  });
}
