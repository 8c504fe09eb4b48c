import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { addressOrigin, type SourceAddress } from '@krmhub/catalog/recipe/source-address';
import { sha256 } from '@krmhub/schema/digest';
import type { SourceFetcher } from '@krmhub/sources';
import type { Cache } from './cache.js';

/** The parts of a cache for what a server gives only to some: one for each origin, and each actor who asks it. */

/**
 * Returns the part for what the server of an address gives only to this actor; the shared cache for what it gives to
 * everyone, for whom `actor` is undefined.
 */
export function cacheFor(shared: Cache, address: SourceAddress, actor: string | undefined): Cache {
  const origin = addressOrigin(address);
  if (origin === undefined || actor === undefined) return shared;
  return shared.part(path.join(originFolder(shared, origin), actor));
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
  const actors = origin === undefined ? [] : await readdir(originFolder(shared, origin)).catch(() => []);
  if (actors.length === 0) return [shared];
  const actor = await (await openFetcher()).actor(address);
  return actor === undefined ? [shared] : [cacheFor(shared, address, actor), shared];
}

/** Removes all that an actor was given, who may no longer read some of it. Leaves the shared cache. */
export async function forget(cache: Cache): Promise<void> {
  if (cache.isPart) await rm(cache.folder, { recursive: true, force: true }).catch(() => undefined);
}

function originFolder(shared: Cache, origin: string): string {
  return path.join(shared.folder, 'private', sha256(origin).slice('sha256:'.length));
}
