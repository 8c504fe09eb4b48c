import { computeDigest, MEDIA_TYPES, type OciClient, toContent } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema/digest';

/** Pushes an image of one platform with this content to a registry, and returns the digest of its manifest. */
export async function pushTestImage(
  client: OciClient,
  { host, repository, tag }: { host: string; repository: string; tag: string },
  content: string,
): Promise<Digest> {
  const place = { registry: host, repository };
  const blobs = [];
  for (const [mediaType, text] of [
    ['application/vnd.oci.image.config.v1+json', '{"os": "linux", "architecture": "amd64"}'],
    ['application/vnd.oci.image.layer.v1.tar', content],
  ] as const) {
    const bytes = Buffer.from(text);
    const digest = computeDigest(bytes);
    await client.pushBlob(place, digest, toContent(bytes));
    blobs.push({ mediaType, digest, size: bytes.byteLength });
  }
  const [config, ...layers] = blobs;
  const manifest = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.image, config, layers }),
  );
  await client.putManifest({ ...place, tag }, manifest, MEDIA_TYPES.image);
  return computeDigest(manifest) as Digest;
}
