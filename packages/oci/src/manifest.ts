import { KrmhubError } from '@krmhub/schema/error';
import { z } from 'zod';
import { computeDigest, isOciDigest, type OciDigest } from './digest.js';

/** Manifests as image-spec 1.1 and Docker's schema 2 have them, checked before anybody believes them. */

export const MEDIA_TYPES = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  dockerImage: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
  empty: 'application/vnd.oci.empty.v1+json',
} as const;

/** Bytes of a manifest: what every registry takes (distribution-spec, "Pushing manifests"). */
export const MAX_MANIFEST_BYTES = 4_194_304;
/** The empty JSON object, which is the configuration of artifacts that have none (image-spec, "Guidance for an Empty Descriptor"). */
export const EMPTY_CONFIG = new TextEncoder().encode('{}');
export const EMPTY_DIGEST = computeDigest(EMPTY_CONFIG);

/** How many layers, or manifests of an index, are looked at. */
const MAX_DESCRIPTORS = 1_000;
const text = z.string().max(4_096);

/** Checking takes time for each. */
const MAX_ANNOTATIONS = 1_000;
const annotations = z
  .unknown()
  .refine(
    (value) => typeof value !== 'object' || value === null || Object.keys(value).length <= MAX_ANNOTATIONS,
    {
      error: `more than ${MAX_ANNOTATIONS} of them`,
      abort: true,
    },
  )
  .pipe(z.record(text, z.string()));

const descriptor = z.looseObject({
  mediaType: text,
  digest: text
    .refine(isOciDigest, 'is no sha256:… or sha512:… digest')
    .transform((value) => value as OciDigest),
  size: z.int().min(0),
  annotations: annotations.optional(),
  artifactType: text.optional(),
  platform: z.looseObject({ os: text, architecture: text, variant: text.optional() }).optional(),
});
const absent = (error: string) => z.undefined({ error }).optional();
const common = {
  schemaVersion: z.literal(2),
  mediaType: text.optional(),
  artifactType: text.optional(),
  subject: descriptor.optional(),
  annotations: annotations.optional(),
};
const image = z.looseObject({
  ...common,
  config: descriptor,
  layers: z.array(descriptor).max(MAX_DESCRIPTORS),
  manifests: absent('stands beside layers: it says to be two things at once'),
});
const index = z.looseObject({
  ...common,
  manifests: z.array(descriptor).max(MAX_DESCRIPTORS),
  layers: absent('stands beside manifests: it says to be two things at once'),
  config: absent('stands beside manifests: it says to be two things at once'),
});

export type Descriptor = z.infer<typeof descriptor>;
export type ImageManifest = z.infer<typeof image>;
export type ImageIndex = z.infer<typeof index>;
export type Manifest = { kind: 'image'; image: ImageManifest } | { kind: 'index'; index: ImageIndex };

const KINDS: ReadonlyMap<string, Manifest['kind']> = new Map([
  [MEDIA_TYPES.image, 'image'],
  [MEDIA_TYPES.dockerImage, 'image'],
  [MEDIA_TYPES.index, 'index'],
  [MEDIA_TYPES.dockerIndex, 'index'],
]);

/** Whether a descriptor is of a manifest, and not of a blob. */
export function isManifestType(mediaType: string): boolean {
  return KINDS.has(mediaType);
}

/**
 * Reads a manifest by the media type that it was sent with. A document that says to be something else, or two things
 * at once, is refused (CVE-2021-41190). Throws `invalid-document`.
 */
export function readManifest(bytes: Uint8Array, mediaType: string): Manifest {
  const kind = KINDS.get(mediaType);
  if (kind === undefined)
    throw invalidManifest(`of the media type "${mediaType.slice(0, 100)}", which is no manifest's`);
  if (bytes.byteLength > MAX_MANIFEST_BYTES) throw invalidManifest(`larger than ${MAX_MANIFEST_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw invalidManifest('no JSON', cause);
  }
  const said =
    typeof value === 'object' && value !== null && 'mediaType' in value ? value.mediaType : undefined;
  if (said !== undefined && said !== mediaType) {
    // Anything but a text may be too deep to be written again.
    const other = typeof said === 'string' ? JSON.stringify(said.slice(0, 100)) : 'something else';
    throw invalidManifest(`sent as ${mediaType}, and says to be ${other}`);
  }
  return kind === 'image'
    ? { kind, image: parseDocument(image, value) }
    : { kind, index: parseDocument(index, value) };
}

/** What a manifest names and lives as long as it: its configuration and layers, or the manifests of an index. */
export function referencedDescriptors(manifest: Manifest): Descriptor[] {
  return manifest.kind === 'image'
    ? [manifest.image.config, ...manifest.image.layers]
    : manifest.index.manifests;
}

/** What a registry must have of that: all but layers that may not be distributed, and are somewhere else. */
export function requiredDigests(manifest: Manifest): OciDigest[] {
  const needed = referencedDescriptors(manifest).filter(
    ({ mediaType, urls }) => !(/nondistributable|\.foreign\./.test(mediaType) || Array.isArray(urls)),
  );
  return [...new Set(needed.map(({ digest }) => digest))];
}

function parseDocument<Shape extends z.ZodType>(shape: Shape, value: unknown): z.infer<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.').slice(0, 100) || 'it'}: ${message}`);
  throw invalidManifest(`not what it has to be: ${problems.join('; ')}`);
}

function invalidManifest(why: string, cause?: unknown): KrmhubError {
  return new KrmhubError('invalid-document', `the manifest is ${why}`, { cause });
}
