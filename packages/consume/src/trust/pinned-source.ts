import type { SourceAddress } from '@krmhub/catalog';
import { parseReference } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { CATALOG_SUBJECTS } from '@krmhub/signing/statement';
import { verifySnapshot } from '@krmhub/signing/verify-snapshot';
import type { TrustPorts } from '../ports.js';
import type { ExpectedSnapshot, SignedSnapshot } from './judge-snapshot.js';
import { repositoryUrl } from './pinned-artifact.js';
import { allPins, type CatalogPin, findPin } from './pinned-catalogs.js';
import { acceptSnapshot, type PinnedSnapshot, requireNoLimits, requireSnapshot } from './require-snapshot.js';

/** A fetched catalog and the bundles beside it, none of which is verified. */
export interface FetchedSource {
  bytes: Uint8Array;
  digest: Digest;
  bundles: readonly Uint8Array[];
  /** Digest of its OCI manifest. */
  manifest?: string;
}

/** How a source is pinned: by its address, or by the bundles that lie beside it. */
export interface SourcePin {
  pin?: CatalogPin;
  expected: ExpectedSnapshot;
  /** Files and git repositories: their address says nothing about the registry that signed the catalog. */
  byBundle: boolean;
}

/** Returns how a source is pinned; undefined if it is not, and its bundles cannot change that. */
export async function findSourcePin(
  io: TrustPorts,
  url: string,
  address: SourceAddress,
): Promise<SourcePin | undefined> {
  if (address.type === 'file' || address.type === 'git') return { expected: { url }, byBundle: true };
  const { locateCatalog } = await import('@krmhub/catalog');
  const reference = address.type === 'oci' ? parseReference(address.reference) : undefined;
  const place = address.type === 'http' ? address.url : repositoryUrl(reference!);
  const pin = await findPin(io, place);
  if (pin === undefined) {
    requireNoLimits(io, url, place);
    return undefined;
  }
  const { name } = pin;
  const snapshot = reference === undefined ? locateCatalog(place)?.snapshot : reference.tag;
  const serial = snapshot !== undefined && /^[1-9]\d{0,14}$/.test(snapshot) ? Number(snapshot) : undefined;
  const byDigest = reference?.digest !== undefined || snapshot?.startsWith('sha256:') === true;
  return {
    pin,
    expected: {
      url,
      ...defined({ name, serial, anyAge: serial === undefined && !byDigest ? undefined : true }),
    },
    byBundle: false,
  };
}

/**
 * Verifies a source that is pinned. Returns undefined if no pinned key signed a file. Throws `untrusted`. `accept`
 * records the snapshot, and may print it.
 */
export async function verifyPinnedSource(
  io: TrustPorts,
  { pin: known, expected, byBundle }: SourcePin,
  source: Omit<FetchedSource, 'bytes'>,
  accept: typeof acceptSnapshot = acceptSnapshot,
): Promise<PinnedSnapshot | undefined> {
  const { bundles, digest, manifest } = source;
  const pin = byBundle ? await signingPin(io, bundles) : known;
  if (pin === undefined) {
    requireNoLimits(io, expected.url);
    return undefined;
  }
  const signed = await requireSnapshot(io, pin, expected, bundles, (one) =>
    covers(one, digest, manifest)
      ? undefined
      : `the signature of snapshot ${one.claim.serial} does not cover ${digest}`,
  );
  return accept(io, expected.url, pin, signed);
}

function covers({ digests }: SignedSnapshot, digest: Digest, manifest: string | undefined): boolean {
  if (manifest !== undefined) return digests.get('manifest') === manifest;
  return CATALOG_SUBJECTS.some((name) => digests.get(name) === digest);
}

/** Returns the pin of the catalog that a bundle names, if one of its keys signed the bundle. */
async function signingPin(io: TrustPorts, bundles: readonly Uint8Array[]): Promise<CatalogPin | undefined> {
  const pins = bundles.length === 0 ? [] : await allPins(io);
  for (const bundle of bundles) {
    for (const pin of pins) {
      const { signed } = verifySnapshot(bundle, pin.keys);
      if (signed !== undefined && (pin.name ?? signed.claim.catalog) === signed.claim.catalog) return pin;
    }
  }
  return undefined;
}
