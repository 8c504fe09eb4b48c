import { getArtifactType, mainLayer, parseReference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { ociClient } from '../registry/connect-oci.js';

/** The catalog or definition of an artifact, read from its registry; at most so many bytes. */
export async function readArtifact(io: Pick<Io, 'env'>, name: string, maxBytes: number): Promise<Uint8Array> {
  const reference = parseReference(name);
  const client = ociClient(io);
  const { manifest } = await client.manifest(reference);
  const type = getArtifactType(manifest);
  if (manifest.kind !== 'image' || (type !== 'catalog' && type !== 'definition')) {
    throw new KrmhubError(
      'invalid-document',
      `${name} is ${type ?? 'something else'}, and no catalog or definition`,
      {
        hint: '`krmhub pull` writes the files of any artifact.',
      },
    );
  }
  const layer = mainLayer(manifest.image, type);
  if (layer.size > maxBytes) {
    throw new KrmhubError('too-large', `${name} has ${layer.size} bytes, and at most ${maxBytes} are read`);
  }
  return client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(reference, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
}
