import { repositoryUrl, verifyPinnedArtifact } from '@krmhub/consume/trust/pinned-artifact';
import { reportNotPinned, requireNoLimits } from '@krmhub/consume/trust/require-snapshot';
import { getArtifactType, mainLayer, parseReference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { openOci } from '../registry/connect-oci.js';
import { consumePorts } from '../registry/consume-ports.js';

/**
 * Reads the catalog or definition of an OCI artifact. Throws `too-large` above `maxBytes`, and `untrusted` for a
 * catalog that is pinned and not signed by its key.
 */
export async function readArtifact(io: Io, name: string, maxBytes: number): Promise<Uint8Array> {
  const reference = parseReference(name);
  const client = openOci(io);
  const { manifest, digest } = await client.manifest(reference);
  const type = getArtifactType(manifest);
  if (manifest.kind !== 'image' || (type !== 'catalog' && type !== 'definition')) {
    throw new KrmhubError(
      'invalid-document',
      `cannot read ${name}: it is ${type === undefined ? 'not an artifact of krmhub' : `an artifact of type ${type}`}, expected a catalog or a definition`,
      {
        hint: `Pull its files: krmhub pull ${name.replace('oci://', '')}`,
      },
    );
  }
  const pinned = await verifyPinnedArtifact(consumePorts(io), client, reference, digest);
  if (pinned === undefined) requireNoLimits(io, name, repositoryUrl(reference));
  const layer = mainLayer(manifest.image, type);
  if (layer.size > maxBytes) {
    throw new KrmhubError(
      'too-large',
      `cannot read ${name}: it has ${layer.size} bytes; the limit is ${maxBytes}`,
    );
  }
  const bytes = await client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(reference, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
  if (pinned === undefined && type === 'catalog') {
    await reportNotPinned(consumePorts(io), name, repositoryUrl(reference));
  }
  return bytes;
}
