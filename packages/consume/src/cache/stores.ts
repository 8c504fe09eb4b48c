import { addressOrigin, type SourceAddress } from '@krmhub/catalog/recipe/source-address';
import type { SourceFetcher } from '@krmhub/sources';
import type { Cache } from './cache.js';
import type { CacheWriter } from './cache-writer.js';

/** A part of the cache, and what writes to it. */
export interface EntryStore {
  cache: Cache;
  writer: CacheWriter;
}

/** Returns the store of a part of the cache. */
export function storeFor(shared: EntryStore, cache: Cache): EntryStore {
  return cache === shared.cache ? shared : { cache, writer: shared.writer.for(cache) };
}

/**
 * Returns the part of the cache for what a server gives only to this actor; the shared one for what it gives to
 * everyone, for whom `actor` is undefined.
 */
export function cacheFor(shared: Cache, address: SourceAddress, actor: string | undefined): Cache {
  const origin = addressOrigin(address);
  return origin === undefined || actor === undefined ? shared : shared.private(origin, actor);
}

/**
 * Returns the caches that may have what an address names, for who asks now: the private one first. Does not look for
 * credentials if no one has a private one for the server.
 */
export async function readableCaches(
  shared: Cache,
  address: SourceAddress,
  openFetcher: () => Promise<SourceFetcher>,
): Promise<Cache[]> {
  const origin = addressOrigin(address);
  if (origin === undefined || !(await shared.hasPrivate(origin))) return [shared];
  const actor = await (await openFetcher()).actor(address);
  return actor === undefined ? [shared] : [shared.private(origin, actor), shared];
}
