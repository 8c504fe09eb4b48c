import type { LockedFunctions, LockedImage } from '@krmhub/catalog';
import { lockedName, pinnedDigest } from '@krmhub/consume/resolve/images/named-image';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import type { ListedFunction } from '../function-configs/layers.js';
import type { Io } from '../io/io.js';
import { type ResolvedFunction, resolveFunctions } from './resolve-functions.js';
import { withResolver } from './resolve-uses.js';

/**
 * Resolves the images that the package itself names without a digest, with what cannot be resolved. What is locked
 * stays.
 */
export async function resolveImages(
  io: Io,
  listed: readonly ListedFunction[],
  { options, locked }: { options: ResolverOptions; locked: LockedFunctions },
): Promise<{ images: LockedImage[]; failed: ResolvedFunction[] }> {
  const images: LockedImage[] = [];
  const fresh = new Map<string, ListedFunction>();
  for (const one of listed) {
    const runtime = one.written ?? one.request.inline;
    if (runtime?.type !== 'container') continue;
    const image = lockedName(runtime.image);
    if (fresh.has(image)) continue;
    const kept = locked.image(image);
    if (kept !== undefined) images.push(kept);
    else if (pinnedDigest(image, undefined) === undefined) {
      const { written: _, ...plain } = one;
      fresh.set(image, {
        ...plain,
        request: { ...one.request, inline: { ...runtime, image }, catalogs: [] },
      });
    }
  }
  const failed: ResolvedFunction[] = [];
  await withResolver(io, { ...options, catalogs: [] }, async (resolver) => {
    for (const one of await resolveFunctions(resolver, [...fresh.values()])) {
      const runtime = one.resolution?.runtime;
      if (runtime === undefined || !('digestFrom' in runtime)) {
        failed.push(one);
        continue;
      }
      const { image, tag, digest, platforms } = runtime as LockedImage;
      images.push({ image, digest, ...defined({ tag, platforms }) });
    }
  });
  return { images: [...new Map(images.map((one) => [one.image, one])).values()], failed };
}
