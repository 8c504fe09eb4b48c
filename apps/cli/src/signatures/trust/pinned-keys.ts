import { canonicalCatalogUrl, type PinnedKey } from '@krmhub/catalog';
import { type PublicKey, readPublicKey } from '@krmhub/schema';
import type { Io } from '../../io/io.js';
import { trustToVerifyBy } from './trust-file.js';

/**
 * The keys that the user of this machine has pinned a catalog to, those that hold now; undefined where nobody said
 * anything of this catalog, and an empty list where every key of it has ended or not begun. Throws `untrusted` where the
 * trust file cannot be read.
 */
export async function pinnedKeys(
  io: Pick<Io, 'env' | 'cwd' | 'now'>,
  url: string,
): Promise<{ name: string; keys: PublicKey[] } | undefined> {
  const { trust } = await trustToVerifyBy(io);
  const address = canonicalCatalogUrl(url);
  const catalog = trust.catalogs.find((one) => canonicalCatalogUrl(one.url) === address);
  if (address === undefined || catalog === undefined) return undefined;
  const { name } = catalog;
  const at = io.now().toISOString();
  return {
    name,
    keys: catalog.keys.filter((key) => holds(key, at)).map(({ key }) => readPublicKey(key, name)),
  };
}

function holds({ validFrom, validUntil }: PinnedKey, at: string): boolean {
  return (validFrom === undefined || at >= validFrom) && (validUntil === undefined || at < validUntil);
}
