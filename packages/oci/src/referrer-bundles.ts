import { KrmhubError } from '@krmhub/schema/error';
import { bundleLayer, isBundleType } from './bundle-manifest.js';
import type { OciClient } from './client.js';
import { readLimited } from './connection.js';
import type { OciDigest } from './digest.js';
import { type Descriptor, isManifestType } from './manifest.js';
import type { RepositoryReference } from './reference.js';

/** Limits, because anyone who can push can add any number of referrers. */
export interface ReferrerBundleLimits {
  maxReferrers: number;
  maxBundles: number;
  maxBundleBytes: number;
}

/** A broken referrer counts as none. Other errors of a registry end the read. */
const BROKEN = ['not-found', 'gone', 'digest-mismatch', 'invalid-document', 'too-large'];

/**
 * Returns the referrers that can have bundles: first those with the type of bundles, then the others, because tools do
 * not agree on the type. Otherwise the order stays: a krmhub registry lists its own signature first.
 */
export function bundlesFirst(referrers: readonly Descriptor[]): Descriptor[] {
  const rank = ({ artifactType = '' }: Descriptor) => (isBundleType(artifactType) ? 0 : 1);
  return referrers.filter(({ mediaType }) => isManifestType(mediaType)).sort((a, b) => rank(a) - rank(b));
}

/** Reads the bundles that refer to a manifest, unverified. */
export async function readReferrerBundles(
  client: OciClient,
  { registry, repository }: RepositoryReference,
  digest: OciDigest,
  limits: ReferrerBundleLimits,
): Promise<Uint8Array[]> {
  const place = { registry, repository };
  const referrers = bundlesFirst(await client.referrers(place, digest)).slice(0, limits.maxReferrers);
  const found: Uint8Array[] = [];
  for (const referrer of referrers) {
    if (found.length >= limits.maxBundles) break;
    const bundle = await readBundle(client, place, referrer.digest, digest, limits.maxBundleBytes);
    if (bundle !== undefined) found.push(bundle);
  }
  return found;
}

async function readBundle(
  client: OciClient,
  place: RepositoryReference,
  referrer: OciDigest,
  subject: OciDigest,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  try {
    const { manifest } = await client.manifest({ ...place, digest: referrer });
    if (manifest.kind !== 'image' || manifest.image.subject?.digest !== subject) return undefined;
    const layer = bundleLayer(manifest.image);
    if (layer === undefined || layer.size > maxBytes) return undefined;
    return await client.withRetries(async () => readLimited(await client.blob(place, layer), maxBytes));
  } catch (error) {
    if (error instanceof KrmhubError && BROKEN.includes(error.code)) return undefined;
    throw error;
  }
}
