import {
  bundlesFirst,
  type Descriptor,
  type ImageManifest,
  type OciClient,
  type OciDigest,
  type RepositoryReference,
  referrersTag,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { isBundleMediaType, SIGNING_LIMITS, verifyBundle, verifyLegacySignature } from '@krmhub/signing';
import { LEGACY_LAYER } from '@krmhub/signing/legacy-signature';
import { type FoundBundle, unreadableBundle } from './found-bundle.js';

type Repository = RepositoryReference;

/** Limits, because a client that can push can add any number of referrers and legacy signatures. */
const MAX_REFERRERS = 64;
const MAX_LEGACY_SIGNATURES = 64;
/** Bytes of the payload of a legacy signature; cosign writes 300. */
const MAX_PAYLOAD_BYTES = 1_048_576;
/** Broken evidence counts as a failed bundle. Other errors of a registry end the command. */
const BROKEN_EVIDENCE_CODES = ['not-found', 'gone', 'digest-mismatch', 'invalid-document', 'too-large'];

/**
 * Finds every bundle and signature that refers to a manifest, valid or not. They sign the manifest or one of `parts`,
 * which are digests of its layers.
 */
export async function findBundles(
  client: OciClient,
  place: Repository,
  digest: OciDigest,
  parts: readonly string[] = [],
): Promise<{ found: FoundBundle[]; leftOut: number }> {
  const referrers = await listReferrers(client, place, digest);
  const found: FoundBundle[] = [];
  for (const referrer of referrers.slice(0, MAX_REFERRERS)) {
    found.push(
      ...(await keepBrokenEvidence(referrer.digest, () =>
        readReferrer(client, place, referrer, { digest, parts }),
      )),
    );
  }
  found.push(...(await findLegacySignatures(client, place, digest)));
  return { found, leftOut: Math.max(referrers.length - MAX_REFERRERS, 0) };
}

/**
 * Lists referrers by the API, then those of the fallback tag, because a registry may have gained the API later. Everyone
 * who can push can write a long list to the tag.
 */
async function listReferrers(client: OciClient, place: Repository, digest: OciDigest): Promise<Descriptor[]> {
  const listed = await client.referrers(place, digest);
  const { registry, repository } = place;
  const fallback = await client
    .manifest({ registry, repository, tag: referrersTag(digest) })
    .catch((error: unknown) => {
      if (error instanceof KrmhubError && BROKEN_EVIDENCE_CODES.includes(error.code)) return undefined;
      throw error;
    });
  const tagged = fallback?.manifest.kind === 'index' ? fallback.manifest.index.manifests : [];
  const unique = new Map(listed.map((descriptor) => [descriptor.digest, descriptor]));
  for (const descriptor of tagged) {
    if (!unique.has(descriptor.digest)) unique.set(descriptor.digest, descriptor);
  }
  return bundlesFirst([...unique.values()]);
}

async function readReferrer(
  client: OciClient,
  place: Repository,
  referrer: Descriptor,
  { digest: subject, parts }: { digest: OciDigest; parts: readonly string[] },
): Promise<FoundBundle[]> {
  const { registry, repository } = place;
  const { manifest } = await client.manifest({ registry, repository, digest: referrer.digest });
  if (manifest.kind !== 'image') return [];
  const { image } = manifest;
  const layers = bundleLayers(image);
  if (layers.length === 0) return [];
  // A list can contain a manifest that refers to another subject.
  if (image.subject?.digest !== subject) {
    return [unreadableBundle(referrer.digest, 'listed as a referrer, but its subject is another manifest')];
  }
  if (layers.length > 1)
    return [unreadableBundle(referrer.digest, `contains ${layers.length} bundles, expected one`)];
  const bytes = await readBlob(client, place, layers[0]!, SIGNING_LIMITS.maxBundleBytes);
  return [
    {
      source: referrer.digest,
      verify: (trust) => verifyBundle(bytes, { digests: [subject, ...parts] }, trust),
    },
  ];
}

function bundleLayers(image: ImageManifest): Descriptor[] {
  const typed = image.layers.filter(({ mediaType }) => isBundleMediaType(mediaType));
  const isBundle = isBundleMediaType(image.artifactType ?? '') || isBundleMediaType(image.config.mediaType);
  return typed.length === 0 && isBundle ? image.layers : typed;
}

async function findLegacySignatures(
  client: OciClient,
  { registry, repository }: Repository,
  digest: OciDigest,
): Promise<FoundBundle[]> {
  const place = { registry, repository, tag: `${referrersTag(digest)}.sig` };
  return keepBrokenEvidence(place.tag, async () => {
    if ((await client.resolveDigest(place)) === undefined) return [];
    const { manifest } = await client.manifest(place);
    if (manifest.kind !== 'image') return [];
    const layers = manifest.image.layers.filter(({ mediaType }) => mediaType === LEGACY_LAYER);
    const found: FoundBundle[] = [];
    for (const [at, layer] of layers.slice(0, MAX_LEGACY_SIGNATURES).entries()) {
      const source = `${place.tag}#${at + 1}`;
      const read = await keepBrokenEvidence(source, async () => {
        const payload = await readBlob(client, place, layer, MAX_PAYLOAD_BYTES);
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

async function readBlob(
  client: OciClient,
  place: Repository,
  layer: Descriptor,
  maxBytes: number,
): Promise<Uint8Array> {
  if (layer.size > maxBytes) {
    throw new KrmhubError(
      'too-large',
      `layer ${layer.digest} has ${layer.size} bytes; the limit is ${maxBytes}`,
    );
  }
  return client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(place, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
}

async function keepBrokenEvidence(
  source: string,
  read: () => Promise<FoundBundle[]>,
): Promise<FoundBundle[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof KrmhubError && BROKEN_EVIDENCE_CODES.includes(error.code)) {
      return [unreadableBundle(source, error.message)];
    }
    throw error;
  }
}
