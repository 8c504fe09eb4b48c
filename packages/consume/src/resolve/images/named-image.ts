/**
 * Finds the digests of images that a Kptfile, a functionConfig, or the command line names.
 *
 * All commands ask here, so that what is explained and locked is what runs.
 *
 * @module
 */

import type { LockedFunctions } from '@krmhub/catalog';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { escapeControls } from '@krmhub/schema/text';
import type { Network } from '../../ports.js';
import type { NamedDigest, ResolvedInline } from '../resolution.js';
import type { ImageRegistries } from './served-image.js';

/**
 * Returns the digest of an image that its reference has, or the lock; undefined for a tag that is not locked. Throws
 * `not-found` for that if the lock is frozen.
 */
export function pinnedDigest(image: string, lock: LockedFunctions | undefined): NamedDigest | undefined {
  const reference = parseImageReference(image);
  if (reference.ok && reference.digest !== undefined) {
    return { digest: reference.digest as Digest, digestFrom: 'reference' };
  }
  const locked = lock?.image(lockedName(image));
  if (locked !== undefined) {
    const { image: _, ...what } = locked;
    return { ...what, digestFrom: 'lock' };
  }
  if (lock?.frozen !== true) return undefined;
  throw new KrmhubError('not-found', escapeControls(`the image ${image} is not locked`), {
    hint: pinHint(image, lock.command),
  });
}

/** As `pinnedDigest`. With `isRequired`, throws `untrusted` for a tag that is not locked. `command` locks the package. */
export function requiredDigest(
  image: string,
  lock: LockedFunctions | undefined,
  isRequired: boolean,
  command: string,
): NamedDigest | undefined {
  const pinned = pinnedDigest(image, lock);
  if (pinned !== undefined || !isRequired) return pinned;
  throw new KrmhubError('untrusted', escapeControls(`the image ${image} is not pinned by digest`), {
    hint: pinHint(image, command),
  });
}

function pinHint(image: string, command: string): string {
  return escapeControls(
    `Lock it with \`${command}\`, or add its digest: ${imageRepository(image)}@sha256:DIGEST.`,
  );
}

/** Returns an image as a lock file names it: with its tag, also if that is `latest`. */
export function lockedName(image: string): string {
  return imageRepository(image) === image ? `${image}:latest` : image;
}

/** Returns `REPOSITORY@DIGEST` for an image with a tag, a digest, or a constraint on its tags. */
export function imageAt(image: string, digest: Digest): string {
  return `${imageRepository(image)}@${digest}`;
}

/** Returns `REPOSITORY:TAG` for an image with a constraint on its tags. */
export function imageWithTag(image: string, tag: string): string {
  return `${imageRepository(image)}:${tag}`;
}

/** Returns an image without its tag and digest, as it is written. */
export function imageRepository(image: string): string {
  const named = image.split('@', 1)[0]!;
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return colon === -1 ? named : named.slice(0, colon);
}

/** Returns a runtime that a package names itself, with the digest of its image. Throws what `ImageRegistries` does. */
export async function resolveInline(
  io: Network,
  inline: InlineRuntime,
  { images, lock, offline }: { images: ImageRegistries; lock: LockedFunctions | undefined; offline: boolean },
): Promise<ResolvedInline> {
  if (inline.type !== 'container') return inline;
  const pinned = pinnedDigest(inline.image, lock);
  if (pinned !== undefined) return { ...inline, ...pinned };
  // Most runs pin no image.
  const { pinRuntime } = await import('@krmhub/catalog/resolve/pin-runtime');
  const isTagged = parseImageReference(inline.image).ok;
  const image = isTagged ? inline.image : await findNewest(io, inline.image, offline);
  const plan = pinRuntime({ container: { image } });
  if (plan.type === 'refused') throw new KrmhubError(plan.code, escapeControls(plan.reason));
  // Without a digest, there is nothing to plan but the question.
  const { reference } = plan as Extract<typeof plan, { type: 'ask' }>;
  const tag = isTagged ? {} : { tag: image.slice(imageRepository(image).length + 1) };
  return { ...inline, ...tag, ...(await images.find(reference)), digestFrom: 'registry' };
}

/** The image with the newest tag that `REPOSITORY:CONSTRAINT` allows. */
async function findNewest(io: Network, image: string, offline: boolean): Promise<string> {
  const repository = imageRepository(image);
  if (repository === image || !parseImageReference(repository).ok) return image;
  const { newestImage } = await import('./newest-image.js');
  return newestImage(io, { repository, constraint: image.slice(repository.length + 1) }, { offline });
}
