import type { Digest } from '@krmhub/schema';
import type { Derivation } from '../../workers/derive/derivation.js';
import { cachedViews } from './cached-views.js';

/** The paths of the images in a README that are files beside it, as a JSON array. */
export const README_IMAGES: Derivation<{ readme: Digest }> = {
  name: 'readme-images',
  async derive(deps, { readme }) {
    const { images } = await cachedViews(deps).readme(readme);
    return new TextEncoder().encode(JSON.stringify(images));
  },
};
