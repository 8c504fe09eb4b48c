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

/** Never fails: the error of the request says what is wrong. */
export async function forgetActor(
  io: Io,
  address: SourceAddress,
  actor: string,
  isMeant: (part: Cache) => Promise<boolean> = async () => true,
): Promise<void> {
  const cache = await openCache({ ...io, version: VERSION }).catch(() => undefined);
  if (cache === undefined || !(await cache.hasParts())) return;
  const part = cacheFor(cache, address, actor);
  if (await isMeant(part)) await forget(part);
}

/** As `forgetActor`, for whom the credentials name. */
export async function forgetCredentials(
  io: Io,
  address: SourceAddress,
  credentials: SourceCredentials,
): Promise<void> {
  const server = addressServer(address);
  if (server !== undefined) await forgetActor(io, address, await actorName(server, credentials));
}

/** The same for what the API of a registry refuses. */
export async function forgetRefused(io: Io, registry: URL, { token, path }: Refusal): Promise<void> {
  const address = { type: 'http' as const, url: registry.href };
  const server = addressServer(address);
  if (server === undefined) return;
  const isMeant = async (part: Cache) => {
    if (path === undefined) return true;
    const place = registry.href.replace(/\/+$/, '') + objectPath(path);
    const names = await part.recordNames('catalogs');
    return names.some((name) => name === place || name.startsWith(`${place}/`));
  };
  await forgetActor(io, address, await actorName(server, { token }), isMeant);
}

/** Where the files of what a request is about are, which the cache names: of a catalog, they are not below the API. */
function objectPath(path: string): string {
  const [, catalog] =
    /^(?:\/api\/v1)?(\/catalogs\/[^/]+)(?:\/(?:catalog\.(?:yaml|json)|releases))?$/.exec(path) ?? [];
  return catalog ?? path;
}
