import { canonicalRelease } from '../documents/release.js';
import { parseImageReference } from '../images/image-reference.js';

/** Releases that image tags name: where a publish sets no release, its images do, and lint warns where they differ. */

/**
 * Returns the canonical release in the tags of images. Undefined if there is no image, a tag is missing or not a single
 * release (`v1` moves), or two tags differ.
 */
export function sharedImageRelease(images: readonly string[]): string | undefined {
  const releases = new Set(images.map(imageRelease));
  return releases.size === 1 ? [...releases][0] : undefined;
}

function imageRelease(image: string): string | undefined {
  const reference = parseImageReference(image);
  if (!reference.ok || reference.tag === undefined || !/^v?\d+\.\d+/.test(reference.tag)) return undefined;
  return canonicalRelease(reference.tag);
}
