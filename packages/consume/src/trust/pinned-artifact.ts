import {
  formatReference,
  type OciClient,
  type OciDigest,
  type Reference,
  type RepositoryReference,
  readReferrerBundles,
} from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { SOURCE_LIMITS } from '@krmhub/sources';
import type { TrustPorts } from '../ports.js';
import type { ExpectedSnapshot } from './judge-snapshot.js';
import { type CatalogPin, findPin } from './pinned-catalogs.js';
import { acceptSnapshot, type PinnedSnapshot, requireSnapshot } from './require-snapshot.js';

/** Returns the URL by which a repository is pinned. */
export function repositoryUrl({ registry, repository }: RepositoryReference): string {
  return `https://${registry}/${repository}`;
}

/**
 * Verifies that a pinned key signed the manifest of a catalog, by its digest. Returns undefined if the repository is
 * not pinned. A serial as the tag, or a digest, names a snapshot of any age; every other tag is the newest.
 */
export async function verifyPinnedArtifact(
  io: TrustPorts,
  client: OciClient,
  reference: Reference,
  digest: OciDigest,
): Promise<PinnedSnapshot | undefined> {
  const pin = await findPin(io, repositoryUrl(reference));
  if (pin === undefined) return undefined;
  const url = formatReference(reference);
  const bundles = await readReferrerBundles(client, reference, digest, SOURCE_LIMITS);
  const signed = await requireSnapshot(io, pin, expectedSnapshot(reference, url, pin), bundles, (one) =>
    one.digests.get('manifest') === digest
      ? undefined
      : `the signed manifest is ${one.digests.get('manifest') ?? '(nothing)'}, got ${digest}`,
  );
  return acceptSnapshot(io, url, pin, signed);
}

function expectedSnapshot({ tag, digest }: Reference, url: string, { name }: CatalogPin): ExpectedSnapshot {
  const serial = tag !== undefined && /^[1-9]\d{0,14}$/.test(tag) ? Number(tag) : undefined;
  return {
    url,
    ...defined({ name, serial, anyAge: serial === undefined && digest === undefined ? undefined : true }),
  };
}
