import { CREATED, TITLE } from './artifact.js';
import type { OciDigest } from './digest.js';
import { type Referrer, referrerManifest, type Subject } from './referrer-manifest.js';

/**
 * Artifact type of the images of a README: a referrer of a release. The title of each layer is the path of its image in
 * the README.
 */
export const README_IMAGES_TYPE = 'application/vnd.dev.krmhub.readme-images.v1';

export const README_IMAGE_LIMITS = {
  /** Bytes of one image. */
  maxBytes: 4_194_304,
  /** Images of one README, and of one artifact. */
  maxImages: 50,
  /** Artifacts with images of one release. */
  maxArtifacts: 20,
  /** Characters of a path. */
  maxPathLength: 200,
} as const;

/** Types that pages show. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/svg+xml';

/** Bytes from the start of a file that `imageType` needs. */
export const IMAGE_TYPE_BYTES = 4_096;

const SIGNATURES: readonly [ImageType, string][] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
];

/**
 * Before the root element of an SVG: an XML declaration, comments, and a document type without declarations of its own,
 * which can expand without limit.
 */
const SVG = /^\ufeff?\s*(?:(?:<\?[^?]*\?>|<!--(?:(?!-->)[\s\S])*-->|<!DOCTYPE\s+svg[^[>]*>)\s*)*<svg[\s>]/;

/**
 * Returns the type of an image from its first bytes; undefined for other files. Names and media types are not evidence.
 */
export function imageType(start: Uint8Array): ImageType | undefined {
  const bytes = start.subarray(0, IMAGE_TYPE_BYTES);
  const first = String.fromCharCode(...bytes.subarray(0, 16));
  const [found] = SIGNATURES.find(([, signature]) => first.startsWith(signature)) ?? [];
  if (found !== undefined) return found;
  if (first.startsWith('RIFF') && first.slice(8, 14) === 'WEBPVP') return 'image/webp';
  return SVG.test(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)) ? 'image/svg+xml' : undefined;
}

/**
 * Returns the path of an image beside a README, from its address in Markdown; undefined for a URL, an absolute path,
 * and a path out of the folder.
 */
export function readmeImagePath(address: string): string | undefined {
  const given = decoded(address.replace(/[?#].*$/s, ''));
  if (given.length > README_IMAGE_LIMITS.maxPathLength || /^[a-z][a-z0-9+.-]*:|^\/|\\/i.test(given)) {
    return undefined;
  }
  const parts = given.split('/').filter((part) => part !== '' && part !== '.');
  return parts.length === 0 || parts.includes('..') ? undefined : parts.join('/');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a manifest with images for the README of a release, a referrer of the release. `created` is RFC 3339. */
export function readmeImagesManifest(options: {
  subject: Subject;
  images: readonly { path: string; mediaType: ImageType; digest: OciDigest; size: number }[];
  created: string;
}): Referrer {
  const { subject, images, created } = options;
  return referrerManifest({
    subject,
    artifactType: README_IMAGES_TYPE,
    layers: images.map(({ path, mediaType, digest, size }) => ({
      mediaType,
      digest,
      size,
      annotations: { [TITLE]: path },
    })),
    annotations: { [CREATED]: created },
  });
}
