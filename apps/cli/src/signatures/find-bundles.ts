import {
  type Descriptor,
  type ImageManifest,
  isManifestType,
  type OciClient,
  type OciDigest,
  type Reference,
  referrersTag,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { isBundleMediaType, SIGNING_LIMITS, verifyBundle, verifyLegacySignature } from '@krmhub/signing';
import { LEGACY_LAYER } from '@krmhub/signing/legacy-signature';
import { type FoundBundle, unreadable } from './found-bundle.js';

type Place = Pick<Reference, 'registry' | 'repository'>;

/** Referrers that are read, and signatures in one image of the old form: whoever may push can add any number. */
const MAX_REFERRERS = 64;
const MAX_LEGACY_SIGNATURES = 64;
/** Bytes of what was signed in the old form; cosign writes 300. */
const MAX_PAYLOAD_BYTES = 1_048_576;
/** An artifact whose evidence is broken is not signed by it; a registry that fails says nothing about it. */
const BROKEN = ['not-found', 'gone', 'digest-mismatch', 'invalid-document', 'too-large'];

/**
 * Every bundle and signature that refers to a manifest, good or not. What they sign is the manifest, or something in it
 * whose digest is one of `parts`.
 */
export async function findBundles(
  client: OciClient,
  place: Place,
  digest: OciDigest,
  parts: readonly string[] = [],
): Promise<{ found: FoundBundle[]; leftOut: number }> {
  const referrers = await referrersOf(client, place, digest);
  const found: FoundBundle[] = [];
  for (const referrer of referrers.slice(0, MAX_REFERRERS)) {
    found.push(
      ...(await reading(referrer.digest, () => bundlesOf(client, place, referrer, { digest, parts }))),
    );
  }
  found.push(...(await legacySignatures(client, place, digest)));
  return { found, leftOut: Math.max(referrers.length - MAX_REFERRERS, 0) };
}

/**
 * By the registry's list and by the tag that stands in for it, since the registry may have learnt to list them later.
 * What says that it is a bundle comes first: programs do not agree on the type, so that the rest is looked at too.
 */
async function referrersOf(client: OciClient, place: Place, digest: OciDigest): Promise<Descriptor[]> {
  const listed = await client.referrers(place, digest);
  const { registry, repository } = place;
  const fallback = await client
    .manifest({ registry, repository, tag: referrersTag(digest) })
    .catch((error: unknown) => {
      if (error instanceof KrmhubError && BROKEN.includes(error.code)) return undefined;
      throw error;
    });
  const tagged = fallback?.manifest.kind === 'index' ? fallback.manifest.index.manifests : [];
  const unique = new Map([...tagged, ...listed].map((descriptor) => [descriptor.digest, descriptor]));
  const rank = ({ artifactType = '' }: Descriptor) => (isBundleMediaType(artifactType) ? 0 : 1);
  return [...unique.values()]
    .filter(({ mediaType }) => isManifestType(mediaType))
    .sort((a, b) => rank(a) - rank(b));
}

async function bundlesOf(
  client: OciClient,
  place: Place,
  referrer: Descriptor,
  { digest: subject, parts }: { digest: OciDigest; parts: readonly string[] },
): Promise<FoundBundle[]> {
  const { registry, repository } = place;
  const { manifest } = await client.manifest({ registry, repository, digest: referrer.digest });
  if (manifest.kind !== 'image') return [];
  const { image } = manifest;
  const layers = bundleLayers(image);
  if (layers.length === 0) return [];
  // A list may name what refers to something else.
  if (image.subject?.digest !== subject) {
    return [unreadable(referrer.digest, 'it is listed as a referrer, and refers to something else')];
  }
  if (layers.length > 1)
    return [unreadable(referrer.digest, 'it holds several bundles, and one is expected')];
  const bytes = await blobOf(client, place, layers[0]!, SIGNING_LIMITS.maxBundleBytes);
  return [
    {
      source: referrer.digest,
      verify: (trust) => verifyBundle(bytes, { digests: [subject, ...parts] }, trust),
    },
  ];
}

function bundleLayers(image: ImageManifest): Descriptor[] {
  const typed = image.layers.filter(({ mediaType }) => isBundleMediaType(mediaType));
  const says = isBundleMediaType(image.artifactType ?? '') || isBundleMediaType(image.config.mediaType);
  return typed.length === 0 && says ? image.layers : typed;
}

async function legacySignatures(
  client: OciClient,
  { registry, repository }: Place,
  digest: OciDigest,
): Promise<FoundBundle[]> {
  const place = { registry, repository, tag: `${referrersTag(digest)}.sig` };
  return reading(place.tag, async () => {
    if ((await client.resolveDigest(place)) === undefined) return [];
    const { manifest } = await client.manifest(place);
    if (manifest.kind !== 'image') return [];
    const layers = manifest.image.layers.filter(({ mediaType }) => mediaType === LEGACY_LAYER);
    const found: FoundBundle[] = [];
    for (const [at, layer] of layers.slice(0, MAX_LEGACY_SIGNATURES).entries()) {
      const source = `${place.tag}#${at + 1}`;
      const read = await reading(source, async () => {
        const payload = await blobOf(client, place, layer, MAX_PAYLOAD_BYTES);
        const signature = { payload, annotations: layer.annotations ?? {} };
        return [
          { source, manifest: digest, verify: (trust) => verifyLegacySignature(signature, digest, trust) },
        ];
      });
      found.push(...read);
    }
    return found;
  });
}

async function blobOf(
  client: OciClient,
  place: Place,
  layer: Descriptor,
  maxBytes: number,
): Promise<Uint8Array> {
  if (layer.size > maxBytes) {
    throw new KrmhubError('too-large', `it has ${layer.size} bytes, and at most ${maxBytes} are read`);
  }
  return client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(place, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
}

async function reading(source: string, read: () => Promise<FoundBundle[]>): Promise<FoundBundle[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof KrmhubError && BROKEN.includes(error.code)) {
      return [unreadable(source, error.message)];
    }
    throw error;
  }
}
