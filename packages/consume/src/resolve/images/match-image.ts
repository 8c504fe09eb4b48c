import { pinRuntime } from '@krmhub/catalog/resolve/pin-runtime';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { fullRepository } from '@krmhub/schema/image-reference';
import type { CatalogReader } from '../read/catalog-reader.js';
import type { ImageMatch } from '../resolution.js';
import { imageRepository } from './named-image.js';

/** Opens a catalog that is searched for an image. */
export type OpenSearched = () => Promise<{ catalog: string; reader: CatalogReader }>;

/** As `Resolver.matchImage`, in catalogs that are opened one after the other. */
export async function matchImage(
  image: string,
  digest: Digest | undefined,
  catalogs: readonly OpenSearched[],
): Promise<ImageMatch | undefined> {
  const repository = fullRepository(imageRepository(image));
  let other: ImageMatch | undefined;
  for (const open of catalogs) {
    try {
      const { catalog, reader } = await open();
      for await (const definition of reader.list(() => undefined)) {
        for (const match of matches(definition, catalog, repository)) {
          if (digest !== undefined && match.image.endsWith(digest)) return match;
          other ??= match;
        }
      }
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
    }
  }
  return other;
}

function matches(
  { group, names, versions }: FunctionDefinition,
  catalog: string,
  repository: string,
): ImageMatch[] {
  return versions.flatMap(({ name, runtime }): ImageMatch[] => {
    if (runtime.container === undefined) return [];
    if (fullRepository(runtime.container.image) !== repository) return [];
    const plan = pinRuntime({ container: runtime.container });
    const pinned =
      plan.type === 'pinned' && plan.runtime.type === 'container' ? plan.runtime.image : undefined;
    const image = pinned ?? runtime.container.image;
    return [{ catalog, apiVersion: `${group}/${name}`, kind: names.kind, image }];
  });
}
