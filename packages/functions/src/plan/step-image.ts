import { KrmhubError } from '@krmhub/schema/error';
import { KPT_IMAGE_PREFIX, parseImageReference } from '@krmhub/schema/image-reference';

/**
 * The image that a step of a pipeline means: a reference, or a repository and a constraint on its tags. `text` says
 * both: `REPOSITORY:CONSTRAINT` for a constraint.
 */
export type StepImage = { text: string } & (
  | { reference: string }
  | { repository: string; constraint: string }
);

/** Reports whether a text can be the image of a function. */
export function isFunctionImage(image: string): boolean {
  return parseImageReference(image).ok;
}

/** Returns the image that kpt runs for a name. Throws `usage` for text that cannot be an image. */
export function fullImage(name: string, prefix = KPT_IMAGE_PREFIX): string {
  const image = name.includes('/') || prefix === '' ? name : `${prefix.replace(/\/$/, '')}/${name}`;
  if (isFunctionImage(image)) return image;
  throw new KrmhubError('usage', `function name "${image}" is invalid`, {
    hint: `Use an image, for example ${KPT_IMAGE_PREFIX}/set-labels:v0.2.`,
  });
}

/**
 * Returns the image of a step (kpt.dev/v1, "image" and "tag"), `latest` without a tag. `tag` replaces the tag and the digest of `image`. It is a
 * version or any other tag, or a constraint in the syntax of Masterminds/semver. Throws `usage`.
 */
export async function stepImage(
  { image: name, tag }: { image: string; tag?: string | undefined },
  prefix?: string,
): Promise<StepImage> {
  const image = fullImage(name, prefix);
  const repository = withoutTag(image);
  if (tag === undefined) {
    const reference = image === repository ? `${image}:latest` : image;
    return { text: reference, reference };
  }
  // It loads a library.
  const { parseConstraint, parseVersion } = await import('@krmhub/schema/version-constraint');
  // A version is a constraint too, but means this one tag.
  if (parseVersion(tag) === undefined && parseConstraint(tag) !== undefined) {
    return { text: `${repository}:${tag}`, repository, constraint: tag };
  }
  const reference = `${repository}:${tag}`;
  if (isFunctionImage(reference)) return { text: reference, reference };
  throw new KrmhubError('usage', `the tag "${tag}" is neither a tag of an image nor a version constraint`, {
    hint: 'Use a tag (v0.2.1), or a constraint (~0.2, ">=0.1.0 <1.0.0").',
  });
}

function withoutTag(image: string): string {
  const named = image.split('@', 1)[0]!;
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return colon === -1 ? named : named.slice(0, colon);
}
