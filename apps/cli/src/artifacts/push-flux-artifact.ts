import {
  FLUX_MEDIA_TYPES,
  fluxArtifact,
  formatReference,
  MEDIA_TYPES,
  type Reference,
  toContent,
} from '@krmhub/oci';
import { plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { connectOci } from '../registry/connect-oci.js';
import { creationTime } from '../upload/creation-time.js';
import { builtManifest, printPushed, uploadArtifact } from '../upload/upload-artifact.js';
import { readManifestFiles } from './manifest-files.js';

/** Pushes rendered manifests in the layout of `flux push artifact`, for an OCIRepository of Flux. */
export async function pushFluxArtifact(
  io: Io,
  name: string,
  reference: Reference,
  options: { annotations: Record<string, string>; plainHttp?: string[]; output: OutputFormat },
): Promise<void> {
  const { files, hidden } = await readManifestFiles(io, name);
  const { layer, config, manifest } = fluxArtifact({
    files,
    created: creationTime(io),
    annotations: options.annotations,
  });
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  const root = builtManifest(manifest, MEDIA_TYPES.image);
  const blobs = [
    { digest: config.digest, content: toContent(config.bytes), isCounted: false },
    { digest: layer.digest, content: toContent(layer.bytes), isCounted: true },
  ];
  const result = await uploadArtifact(client, reference, { blobs, manifests: [root] }, progress);
  if (hidden > 0)
    await printLine(io, `skipped ${plural(hidden, 'hidden file or folder', 'hidden files and folders')}`);
  const pushed = {
    reference: formatReference(reference),
    digest: root.digest,
    type: 'flux' as const,
    mediaType: root.mediaType,
    artifactType: FLUX_MEDIA_TYPES.config,
    ...result,
    files: [
      {
        title: 'manifests.tar.gz',
        mediaType: FLUX_MEDIA_TYPES.content,
        digest: layer.digest,
        size: layer.bytes.byteLength,
      },
    ],
  };
  await printPushed(io, options.output, pushed, `manifests for Flux, ${plural(files.length, 'file')}`);
}
