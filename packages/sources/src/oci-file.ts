import {
  ARTIFACT_MEDIA_TYPES,
  getArtifactType,
  mainLayer,
  type OciClient,
  type Platform,
  parseReference,
  type Reference,
  type StoredManifest,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import type { SourceContext } from './context.js';
import type { Consume, DownloadRequest } from './download-request.js';
import { SourceFailure, tooLargeFailure } from './failure.js';
import { countBytes, createClient, toSourceFailure } from './oci-source.js';

/**
 * Streams the executable or the script of an artifact (KEP-2906, "Use of OCI Artifacts"), of an index the one for the
 * platform.
 */
export async function downloadArtifact<Result>(
  text: string,
  request: DownloadRequest,
  context: SourceContext,
  consume: Consume<Result>,
): Promise<Result> {
  let registry = text.split('/')[0]!;
  try {
    const reference = parseReference(text);
    registry = reference.registry;
    const client = createClient(context);
    const { manifest } = await findManifest(client, reference, request);
    const { artifact = 'exec' } = request;
    const type = getArtifactType(manifest);
    if (manifest.kind !== 'image' || type !== artifact) {
      throw new SourceFailure(
        'bad-answer',
        `${printable(text)} is not ${artifact === 'exec' ? 'an executable' : 'a Starlark script'}: it is ${describeArtifact(type, manifest.kind)}`,
        { hint: `Use an artifact of the type ${ARTIFACT_MEDIA_TYPES[artifact].artifact}.` },
      );
    }
    const layer = mainLayer(manifest.image, artifact);
    const { maxBytes, onProgress = () => undefined } = request;
    if (layer.size > maxBytes) throw tooLargeFailure(printable(text), maxBytes);
    return await client.withRetries(async () =>
      consume(countBytes(await client.blob(reference, layer), onProgress)),
    );
  } catch (error) {
    const isOtherContent = error instanceof KrmhubError && error.code === 'digest-mismatch';
    if (isOtherContent) throw error;
    throw context.deadline.failure ?? toSourceFailure({ registry, reference: text }, error, context);
  }
}

/** Returns the named manifest, or the one of an index for the platform. */
async function findManifest(
  client: OciClient,
  reference: Reference,
  { platform, onManifest }: DownloadRequest,
): Promise<StoredManifest> {
  const named = await client.manifest(reference);
  await onManifest?.(named.bytes);
  if (named.manifest.kind === 'image') return named;
  const { manifests } = named.manifest.index;
  const found = manifests.find((one) => isFor(platform, one.platform));
  if (found === undefined) {
    throw new SourceFailure(
      'not-found',
      `${printable(reference.repository)} has no manifest for ${platform.os}/${platform.architecture}`,
    );
  }
  const { registry, repository } = reference;
  const stored = await client.manifest({ registry, repository, digest: found.digest });
  await onManifest?.(stored.bytes);
  return stored;
}

function isFor(wanted: Platform, platform: Platform | undefined): boolean {
  return platform?.os === wanted.os && platform.architecture === wanted.architecture;
}

function describeArtifact(type: string | undefined, kind: 'image' | 'index'): string {
  if (kind === 'index') return 'an index in an index';
  return type === undefined ? 'an artifact of another type' : `an artifact of the type ${type}`;
}
