import { KrmhubError } from '@krmhub/schema/error';
import { parseImageReference } from '@krmhub/schema/image-reference';

/**
 * Returns `NAME@sha256:…` without a tag, which some engines refuse beside a digest. Throws `untrusted` for an image
 * without a digest, because a user who can push to its registry could change what runs.
 */
export function pinnedImage(image: string): string {
  const reference = parseImageReference(image);
  if (!reference.ok) {
    throw new KrmhubError('invalid-request', `the image "${image}" ${reference.reason}`, {
      hint: 'Use HOST/NAME@sha256:DIGEST.',
    });
  }
  const { host, repository, digest } = reference;
  if (digest === undefined) {
    throw new KrmhubError('untrusted', `the image ${image} is not pinned by digest`, {
      hint: `Pin the image by digest: ${image}@sha256:DIGEST.`,
    });
  }
  return `${host === undefined ? '' : `${host}/`}${repository}@${digest}`;
}
