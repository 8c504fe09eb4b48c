import { canonicalCatalogUrl, type PinnedKey } from '@krmhub/catalog';
import { type PublicKey, readPublicKey } from '@krmhub/schema';
import type { Io } from '../../io/io.js';
import { requireTrustStore } from './trust-file.js';

/**
 * Returns the pinned keys of a catalog that are valid now; undefined if the catalog is not pinned, and an empty list if no
 * pinned key is valid now. Throws `untrusted` if the trust file cannot be read.
 */
export async function pinnedKeys(
  io: Pick<Io, 'env' | 'cwd' | 'now'>,
  url: string,
): Promise<{ name: string; keys: PublicKey[] } | undefined> {
  const { trust } = await requireTrustStore(io);
  const address = canonicalCatalogUrl(url);
  const catalog = trust.catalogs.find((one) => canonicalCatalogUrl(one.url) === address);
  if (address === undefined || catalog === undefined) return undefined;
  const { name } = catalog;
  const at = io.now().toISOString();
  return {
    name,
    keys: catalog.keys.filter((key) => isValidAt(key, at)).map(({ key }) => readPublicKey(key, name)),
  };
}

function isValidAt({ validFrom, validUntil }: PinnedKey, at: string): boolean {
  return (validFrom === undefined || at >= validFrom) && (validUntil === undefined || at < validUntil);
}
