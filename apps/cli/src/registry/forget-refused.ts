import type { Refusal } from '@krmhub/api/transport';
import type { SourceAddress } from '@krmhub/catalog';
import { addressServer } from '@krmhub/catalog/recipe/source-address';
import { cacheFor, forget } from '@krmhub/consume/cache/actor-cache';
import { type Cache, openCache } from '@krmhub/consume/cache/cache';
import type { SourceCredentials } from '@krmhub/sources';
import { actorName } from '@krmhub/sources/actor';
import type { Io } from '../io/io.js';
import { VERSION } from '../io/version.js';

/** Removes what the cache has from a server for credentials, if it refuses them, or something that it gave for them. */

export async function forgetActor(io: Io, address: SourceAddress, actor: string): Promise<void> {
  const cache = await cacheWithParts(io);
  if (cache !== undefined) await forget(cacheFor(cache, address, actor));
}

/** As `forgetActor`, for whom the credentials name. */
export async function forgetCredentials(
  io: Io,
  address: SourceAddress,
  credentials: SourceCredentials,
  isMeant: (part: Cache) => Promise<boolean> = async () => true,
): Promise<void> {
  const server = addressServer(address);
  const cache = await cacheWithParts(io);
  if (server === undefined || cache === undefined) return;
  // The name of an actor is a slow hash.
  const part = cacheFor(cache, address, await actorName(server, credentials));
  if (await isMeant(part)) await forget(part);
}

/** The same for what the API of a registry refuses. */
export async function forgetRefused(io: Io, registry: URL, { token, path }: Refusal): Promise<void> {
  const isMeant = async (part: Cache) => {
    if (path === undefined) return true;
    const place = registry.href.replace(/\/+$/, '') + objectPath(path);
    const names = await part.recordNames('catalogs');
    return names.some((name) => name === place || name.startsWith(`${place}/`));
  };
  await forgetCredentials(io, { type: 'http', url: registry.href }, { token }, isMeant);
}

/** Returns the cache if it has what servers gave only to some; undefined also if it cannot be opened. */
async function cacheWithParts(io: Io): Promise<Cache | undefined> {
  const cache = await openCache({ ...io, version: VERSION }).catch(() => undefined);
  return cache !== undefined && (await cache.hasParts()) ? cache : undefined;
}

/** Where the files of what a request is about are, which the cache names: of a catalog, they are not below the API. */
function objectPath(path: string): string {
  const [, catalog] =
    /^(?:\/api\/v1)?(\/catalogs\/[^/]+)(?:\/(?:catalog\.(?:yaml|json)|releases))?$/.exec(path) ?? [];
  return catalog ?? path;
}
