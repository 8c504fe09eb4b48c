/**
 * References of images and of Starlark scripts.
 *
 * Image references have the grammar of distribution/reference:
 *
 *     reference  = [host "/"] path [":" tag] ["@" digest]
 *     host       = (label *("." label) / "[" IPv6 "]") [":" port]
 *     path       = component *("/" component)      at most 255 characters
 *     component  = alnum *(("." / "_" / "__" / 1*"-") alnum)
 *
 * The first segment is a host only if it has a `.`, `:` or upper-case letter, or is `localhost`.
 * Nothing is filled in: which host, path prefix and tag a bare name gets differs between programs.
 *
 * @module
 */

import { defined } from '../defined.js';
export type ImageReference =
  | { ok: true; host?: string; repository: string; tag?: string; digest?: string }
  | { ok: false; reason: string };

const MAX_REFERENCE_LENGTH = 1_024;
const MAX_PATH_LENGTH = 255;

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$/;
const COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const SHA256 = /^sha256:[a-f0-9]{64}$/;
const IMAGE_ID = /^[a-f0-9]{64}$/;

/** Splits an image reference. `repository` is the path below the host. Takes linear time. */
export function parseImageReference(text: string): ImageReference {
  if (text === '') return invalid('is empty');
  if (text.length > MAX_REFERENCE_LENGTH) return invalid(`is longer than ${MAX_REFERENCE_LENGTH} characters`);
  if (/\s/.test(text)) return invalid('has white space');
  if (/^[a-z+]+:\/\//i.test(text)) return invalid('begins with a URL scheme');

  const at = text.indexOf('@');
  const digest = at === -1 ? undefined : text.slice(at + 1);
  const named = at === -1 ? text : text.slice(0, at);
  if (digest !== undefined && !SHA256.test(digest)) {
    return invalid('has a digest that is not `sha256:` and 64 lower-case hexadecimal digits');
  }

  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  const name = colon === -1 ? named : named.slice(0, colon);
  if (tag !== undefined && !TAG.test(tag)) return invalid(`has the tag "${tag}", which is not a valid tag`);
  if (name === '') return invalid('has no name');
  if (IMAGE_ID.test(name)) return invalid('is the ID of an image, not a name');

  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const host = isHost(first) ? first : undefined;
  if (host !== undefined && !isHostName(host))
    return invalid(`has the host "${host}", which is not a host name`);
  const repository = host === undefined ? name : name.slice(slash + 1);
  if (repository.length > MAX_PATH_LENGTH) {
    return invalid(`has a name of more than ${MAX_PATH_LENGTH} characters`);
  }
  for (const component of repository.split('/')) {
    if (COMPONENT.test(component)) continue;
    if (component === '') return invalid('has an empty part between two slashes');
    if (/[A-Z]/.test(component)) return invalid(`has upper-case letters in "${component}"`);
    return invalid(`has the part "${component}", which is not a valid path component`);
  }
  return {
    ok: true,
    ...defined({ host }),
    repository,
    ...defined({ tag, digest }),
  };
}

/** Where kpt looks for an image without a registry; until 1.0.0-beta.58, it was `gcr.io/kpt-fn`. */
export const KPT_IMAGE_PREFIX = 'ghcr.io/kptdev/krm-functions-catalog';

/** The registry of an image without a host, as docker and podman read it. */
const DEFAULT_HOST = 'docker.io';

/**
 * Returns the repository of an image with its registry, as docker and podman read it: Docker Hub has a folder for names
 * without a slash. The text itself if it is not an image.
 */
export function fullRepository(image: string): string {
  const parsed = parseImageReference(image);
  if (!parsed.ok) return image;
  const { host = DEFAULT_HOST, repository } = parsed;
  const isOfficial = host === DEFAULT_HOST && !repository.includes('/');
  return `${host}/${isOfficial ? 'library/' : ''}${repository}`;
}

/** Returns the hexadecimal digest of `oci://HOST/REPOSITORY@sha256:…`; undefined for other references. */
export function ociDigest(address: string): string | undefined {
  if (!address.startsWith('oci://')) return undefined;
  const reference = parseImageReference(address.slice('oci://'.length));
  return reference.ok && reference.host !== undefined ? reference.digest?.slice('sha256:'.length) : undefined;
}

function isHost(segment: string): boolean {
  return segment === 'localhost' || /[.:A-Z]/.test(segment);
}

function isHostName(host: string): boolean {
  return HOST.test(host) && !/\.\.|-\.|\.-/.test(host);
}

function invalid(reason: string): ImageReference {
  return { ok: false, reason };
}
