import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { addressServer, type SourceAddress } from '@krmhub/catalog/recipe/source-address';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { SourceFetcher } from '@krmhub/sources';
import type { Cache } from './cache.js';

/**
 * The parts of a cache for what a server gives only to some: one for each host and port, and each actor who asks it. What
 * a registry gives over HTTP and over OCI is in one part, so that a refusal of either removes both.
 */

/**
 * Returns the part for what the server of an address gives only to this actor; the shared cache for what it gives to
 * everyone, for whom `actor` is undefined.
 */
export function cacheFor(shared: Cache, address: SourceAddress, actor: string | undefined): Cache {
  const server = addressServer(address);
  if (server === undefined || actor === undefined) return shared;
  return shared.part(path.join(serverFolder(shared, server), actor));
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
  const server = addressServer(address);
  const actors = server === undefined ? [] : await readdir(serverFolder(shared, server)).catch(() => []);
  if (actors.length === 0) return [shared];
  const actor = await (await openFetcher()).actor(address);
  return actor === undefined ? [shared] : [cacheFor(shared, address, actor), shared];
}

/** Removes all that an actor was given, who may no longer read some of it. Leaves the shared cache. */
export async function forget(cache: Cache): Promise<void> {
  if (cache.isPart) await rm(cache.folder, { recursive: true, force: true }).catch(() => undefined);
}

/**
 * Removes all that actors were given, if the error says that their server refuses now what `has` finds in their part. An
 * error of the network, of a proxy, or of the server, removes nothing.
 */
export async function forgetGiven(
  error: unknown,
  caches: () => Promise<Cache[]>,
  has: (part: Cache) => Promise<boolean>,
): Promise<void> {
  if (!(error instanceof KrmhubError && error.isRefusal)) return;
  for (const cache of await caches()) {
    if (cache.isPart && (await has(cache))) await forget(cache);
  }
}

function serverFolder(shared: Cache, server: string): string {
  return path.join(shared.folder, 'private', sha256(server).slice('sha256:'.length));
}
