import { type ContainerRuntime, type ImageReference, parseImageReference } from '@krmhub/schema';

/** Returns the image reference with its digest, for tools without a digest field. */
export function pinnedImage({ image, sha256 }: ContainerRuntime): string {
  return sha256 === undefined || image.includes('@') ? image : `${image}@sha256:${sha256}`;
}

export type ParsedImage = Extract<ImageReference, { ok: true }>;

/** Returns the parts of the reference with its digest; undefined if it is not valid. */
export function parsePinnedImage(container: ContainerRuntime): ParsedImage | undefined {
  const reference = parseImageReference(pinnedImage(container));
  return reference.ok ? reference : undefined;
}
