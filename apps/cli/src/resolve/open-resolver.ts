import type { SourceLimits } from '@krmhub/sources';
import type { Io } from '../io/io.js';
import { openCache } from './cache/cache.js';
import { CacheWriter } from './cache/cache-writer.js';
import { DocumentFetcher } from './fetch/fetch-document.js';
import { RESOLVE_LIMITS } from './limits.js';
import type { Resolver, ResolverOptions } from './resolution.js';
import { CatalogResolver } from './resolver.js';

/**
 * Opens a resolver. Nothing is fetched before it is needed. Throws `usage` for an invalid reference in the options, and
 * `unavailable` for a cache that other users can change. `limits` are those of fetching a catalog.
 */
export async function openResolver(
  io: Io,
  options: ResolverOptions,
  limits: Partial<SourceLimits> = {},
): Promise<Resolver> {
  const cache = await openCache(io);
  const writer = new CacheWriter(cache);
  const offline = options.offline || options.lock?.frozen === true;
  const fetcher = new DocumentFetcher(cache, writer, offline, async () => {
    const { sourceFetcher } = await import('../registry/source-fetcher.js');
    return sourceFetcher(io, {
      temporaryFolder: cache.temporaryFolder,
      limits: { maxCatalogBytes: RESOLVE_LIMITS.maxCatalogBytes, ...limits },
    });
  });
  return new CatalogResolver({ io, cache, writer, fetcher }, options);
}
