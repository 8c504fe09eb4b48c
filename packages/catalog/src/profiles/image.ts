import { type ContainerRuntime, type ImageReference, parseImageReference } from '@krmhub/schema';

/** The reference of an image with its digest, for readers that have no field for it. */
export function pinnedImage({ image, sha256 }: ContainerRuntime): string {
  return sha256 === undefined || image.includes('@') ? image : `${image}@sha256:${sha256}`;
}

export type ParsedImage = Extract<ImageReference, { ok: true }>;

/** The parts of the reference with its digest; undefined where it is none. */
export function parsePinnedImage(container: ContainerRuntime): ParsedImage | undefined {
  const reference = parseImageReference(pinnedImage(container));
  return reference.ok ? reference : undefined;
}
