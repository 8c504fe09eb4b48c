import type { PinnedKey, TrustedCatalog } from '@krmhub/catalog';
import { type PublicKey, readPublicKey } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Clock, Environment, SnapshotLimits, WorkingFolder } from '../ports.js';
import { requireTrustStore } from './trust-file.js';

/** The keys that a user pinned for a catalog. */
export interface CatalogPin {
  /** Name of the entry in the trust file. */
  entry: string;
  /** The pinned URL. */
  url: string;
  /** Name that the signature must have; absent if neither the entry nor its URL names the catalog. */
  name?: string;
  /** At least one, all valid now. */
  keys: PublicKey[];
  /** Which snapshots to accept. */
  limits: SnapshotLimits;
}

/**
 * Returns the pin that covers an address, in any spelling; undefined if the catalog is not pinned. Throws `untrusted`
 * if the trust file cannot be read, or no pinned key of the catalog is valid now.
 */
export async function findPin(
  io: Clock & Environment & WorkingFolder,
  address: string,
): Promise<CatalogPin | undefined> {
  const { locateCatalog, pinnedCatalogName } = await import('@krmhub/catalog');
  const { trust } = await requireTrustStore(io);
  const identity = locateCatalog(address)?.identity;
  const pinned = trust.catalogs.find(({ url }) => locateCatalog(url)?.identity === identity);
  if (identity === undefined || pinned === undefined) return undefined;
  const pin = validPin(pinned, io.now(), pinnedCatalogName(pinned));
  if (pin.keys.length > 0) return pin;
  throw new KrmhubError('untrusted', `cannot verify ${address}: no pinned key of ${pin.entry} is valid now`, {
    hint: 'Show the pinned keys: krmhub trust list',
  });
}

/** Returns every pin with a valid key, for a catalog whose address says nothing about its registry, such as a file. */
export async function allPins(io: Clock & Environment & WorkingFolder): Promise<CatalogPin[]> {
  const { pinnedCatalogName } = await import('@krmhub/catalog');
  const { trust } = await requireTrustStore(io);
  return trust.catalogs
    .map((one) => validPin(one, io.now(), pinnedCatalogName(one)))
    .filter(({ keys }) => keys.length > 0);
}

function validPin(
  { name: entry, url, keys, minSerial, maxAge }: TrustedCatalog,
  now: Date,
  name: string | undefined,
): CatalogPin {
  const at = now.toISOString();
  return {
    entry,
    url,
    ...defined({ name }),
    keys: keys.filter((key) => isValidAt(key, at)).map(({ key }) => readPublicKey(key, entry)),
    limits: defined({ minSerial, maxAge }),
  };
}

function isValidAt({ validFrom, validUntil }: PinnedKey, at: string): boolean {
  return (validFrom === undefined || at >= validFrom) && (validUntil === undefined || at < validUntil);
}
