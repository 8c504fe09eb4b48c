import { KrmhubError } from '@krmhub/schema/error';
import { z } from 'zod';
import { computeDigest, isOciDigest, type OciDigest } from './digest.js';

/** Validates manifests of image-spec 1.1 and Docker schema 2. */

export const MEDIA_TYPES = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  dockerImage: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
  empty: 'application/vnd.oci.empty.v1+json',
} as const;

/** Bytes of a manifest that every registry accepts (distribution-spec, "Pushing manifests"). */
export const MAX_MANIFEST_BYTES = 4_194_304;
/** `{}`, the config of artifacts without one (image-spec, "Guidance for an Empty Descriptor"). */
export const EMPTY_CONFIG = new TextEncoder().encode('{}');
export const EMPTY_DIGEST = computeDigest(EMPTY_CONFIG);

/** Layers of an image, or manifests of an index. */
const MAX_DESCRIPTORS = 1_000;
const text = z.string().max(4_096);
/** No known field is longer. */
const MAX_FIELD_LENGTH = 20;

/** Validation time grows with their number. */
const MAX_ANNOTATIONS = 1_000;
const annotations = z
  .unknown()
  .refine(
    (value) => typeof value !== 'object' || value === null || Object.keys(value).length <= MAX_ANNOTATIONS,
    {
      error: `more than ${MAX_ANNOTATIONS} annotations`,
      abort: true,
    },
  )
  .pipe(z.record(text, z.string()));

/**
 * An object with other fields, but none that differs from a known one only by case: Go decodes these into the same
 * field, so the clients of most registries would read another content than the one that krmhub checks.
 */
function fields<Shape extends z.ZodRawShape>(shape: Shape, others: readonly string[] = []) {
  const names = new Map([...Object.keys(shape), ...others].map((name) => [caseFolded(name), name]));
  return z.looseObject(shape).superRefine((value, context) => {
    for (const key of Object.keys(value)) {
      const name = names.get(caseFolded(key));
      if (name === undefined || name === key) continue;
      context.addIssue({
        code: 'custom',
        message: `the field ${JSON.stringify(key)} is not ${name}, but some clients read it as that`,
      });
    }
  });
}

/** As Go compares the names of fields (encoding/json): also the long s and the Kelvin sign are letters. */
function caseFolded(name: string): string {
  return name.length > MAX_FIELD_LENGTH ? name : name.toUpperCase().toLowerCase();
}

const descriptor = fields(
  {
    mediaType: text,
    digest: text
      .refine(isOciDigest, 'is not a sha256:… or sha512:… digest')
      .transform((value) => value as OciDigest),
    size: z.int().min(0),
    annotations: annotations.optional(),
    artifactType: text.optional(),
    platform: fields({ os: text, architecture: text, variant: text.optional() }).optional(),
  },
  ['urls', 'data'],
);
const absent = (error: string) => z.undefined({ error }).optional();
const common = {
  schemaVersion: z.literal(2),
  mediaType: text.optional(),
  artifactType: text.optional(),
  subject: descriptor.optional(),
  annotations: annotations.optional(),
};
const image = fields({
  ...common,
  config: descriptor,
  layers: z.array(descriptor).max(MAX_DESCRIPTORS),
  manifests: absent('must not be combined with layers'),
});
const index = fields({
  ...common,
  manifests: z.array(descriptor).max(MAX_DESCRIPTORS),
  layers: absent('must not be combined with manifests'),
  config: absent('must not be combined with manifests'),
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

/** Reports whether this is the media type of a manifest, not of a blob. */
export function isManifestType(mediaType: string): boolean {
  return KINDS.has(mediaType);
}

/**
 * Parses a manifest of the given media type. Documents that contain another media type, or fields of both kinds, are
 * rejected (CVE-2021-41190). Throws `invalid-document`.
 */
export function readManifest(bytes: Uint8Array, mediaType: string): Manifest {
  const kind = KINDS.get(mediaType);
  if (kind === undefined) throw invalidManifest(`"${mediaType.slice(0, 100)}" is not a manifest media type`);
  if (bytes.byteLength > MAX_MANIFEST_BYTES) throw invalidManifest(`larger than ${MAX_MANIFEST_BYTES} bytes`);
  let value: unknown;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw invalidManifest('not valid JSON', cause);
  }
  const repeated = findRepeatedField(text);
  if (repeated !== undefined) {
    throw invalidManifest(`the field ${JSON.stringify(repeated.slice(0, 100))} occurs twice in one object`);
  }
  const declared =
    typeof value === 'object' && value !== null && 'mediaType' in value ? value.mediaType : undefined;
  if (declared !== undefined && declared !== mediaType) {
    // Other values may be nested too deeply for JSON.stringify.
    const other = typeof declared === 'string' ? JSON.stringify(declared.slice(0, 100)) : 'not a string';
    throw invalidManifest(`its media type is ${mediaType}, but its field mediaType is ${other}`);
  }
  return kind === 'image'
    ? { kind, image: parseDocument(image, value) }
    : { kind, index: parseDocument(index, value) };
}

/** Parses a stored manifest. Returns undefined if an earlier version accepted it, and this one refuses it. */
export function readStoredManifest(bytes: Uint8Array, mediaType: string): Manifest | undefined {
  try {
    return readManifest(bytes, mediaType);
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}

/**
 * Returns a field of valid JSON that occurs twice in one object. RFC 8259 leaves open which value counts, so other
 * clients could read another content than the one that krmhub checks.
 */
function findRepeatedField(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (name !== undefined) {
      const field = JSON.parse(name) as string;
      if (open.at(-1)!.has(field)) return field;
      open.at(-1)!.add(field);
    }
  }
  return undefined;
}

/** Returns the descriptors that a manifest keeps alive: config and layers, or the manifests of an index. */
export function referencedDescriptors(manifest: Manifest): Descriptor[] {
  return manifest.kind === 'image'
    ? [manifest.image.config, ...manifest.image.layers]
    : manifest.index.manifests;
}

/** Returns the digests that a registry must have: all except non-distributable layers. */
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
    .map(({ path, message }) => `${path.join('.').slice(0, 100) || 'the document root'}: ${message}`);
  throw invalidManifest(problems.join('; '));
}

function invalidManifest(why: string, cause?: unknown): KrmhubError {
  return new KrmhubError('invalid-document', `invalid manifest: ${why}`, { cause });
}
