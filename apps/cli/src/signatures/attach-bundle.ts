import {
  bundleManifest,
  computeDigest,
  createdAt,
  type Descriptor,
  type OciClient,
  type OciDigest,
  type RepositoryReference,
} from '@krmhub/oci';
import { pushReferrer } from '../registry/push-referrer.js';

/** Pushes a bundle as a referrer of an artifact, as cosign does. Returns the digest of its manifest. */
export async function attachBundle(
  client: OciClient,
  target: RepositoryReference,
  options: {
    subject: Descriptor;
    bundle: Uint8Array;
    predicateType: string;
    created: Date;
  },
): Promise<OciDigest> {
  const { subject, bundle, predicateType, created } = options;
  const { mediaType, digest, size } = subject;
  const manifest = bundleManifest({
    subject: { mediaType, digest, size },
    bundle: { digest: computeDigest(bundle), size: bundle.byteLength },
    predicateType,
    created: createdAt(created),
  });
  return pushReferrer(client, target, manifest, [bundle]);
}
