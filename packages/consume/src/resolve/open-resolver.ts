import type { SourceLimits } from '@krmhub/sources';
import { openCache } from '../cache/cache.js';
import { CacheWriter } from '../cache/cache-writer.js';
import { DocumentFetcher } from '../cache/fetch-document.js';
import { RESOLVE_LIMITS } from '../limits.js';
import type { Ports } from '../ports.js';
import type { OpenContext } from './open/open-context.js';
import type { Resolver, ResolverOptions } from './resolution.js';
import { CatalogResolver } from './resolver.js';

/**
 * Opens a resolver. Nothing is fetched before it is needed. Throws `usage` for an invalid reference in the options, and
 * `unavailable` for a cache that other users can change. `limits` are those of fetching a catalog.
 */
export async function openResolver(
  io: Ports,
  options: ResolverOptions,
  limits: Partial<SourceLimits> = {},
): Promise<Resolver> {
  const offline = options.offline || options.lock?.frozen === true;
  return new CatalogResolver(await openContext(io, { offline, limits }), options);
}

/** Opens the cache, and fetches through it. The caller closes the cache. */
export async function openContext(
  io: Ports,
  { offline = false, limits = {} }: { offline?: boolean; limits?: Partial<SourceLimits> } = {},
): Promise<OpenContext> {
  const cache = await openCache(io);
  const writer = new CacheWriter(cache);
  const fetcher = new DocumentFetcher({ cache, writer }, offline, () =>
    io.fetch.openSources({
      temporaryFolder: cache.temporaryFolder,
      limits: { maxCatalogBytes: RESOLVE_LIMITS.maxCatalogBytes, ...limits },
    }),
  );
  return { io, cache, writer, fetcher };
}
