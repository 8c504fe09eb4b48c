import { repositoryUrl, verifyPinnedArtifact } from '@krmhub/consume/trust/pinned-artifact';
import { requireNoLimits } from '@krmhub/consume/trust/require-snapshot';
import { copyArtifact, formatReference, parseReference } from '@krmhub/oci';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { connectOci } from '../registry/connect-oci.js';
import { consumePorts } from '../registry/consume-ports.js';
import { type ArtifactOptions, resolveArtifact } from '../registry/release-artifact.js';
import { signInToRepository } from '../registry/workflow-token.js';

export interface CopyOptions extends ArtifactOptions {
  referrers: boolean;
  output: OutputFormat;
}

/** Copies an artifact between registries; the digest stays the same. */
export async function copyReferences(
  io: Io,
  source: string,
  target: string,
  given: CopyOptions,
): Promise<void> {
  const to = parseReference(target);
  const { name, options } = await resolveArtifact(io, source, given);
  const from = parseReference(name);
  await signInToRepository(io, to, given.registry);
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  const { digest: named } = await client.manifest(from);
  const pinned = await verifyPinnedArtifact(consumePorts(io), client, from, named).finally(() =>
    progress.clear(),
  );
  if (pinned === undefined) requireNoLimits(io, name, repositoryUrl(from));
  const copied = await copyArtifact(client, {
    // By its digest: the tag may move after the verification.
    from: { ...from, digest: named },
    to,
    referrers: options.referrers,
    onProgress: ({ manifests, sentBytes, knownBytes }) =>
      void progress.tick(
        () => `copying: ${plural(manifests, 'manifest')}, ${sizeText(sentBytes)} of ${sizeText(knownBytes)}`,
      ),
  }).finally(() => progress.clear());
  const { digest, manifests, blobs, referrers, sentBytes } = copied;
  const data = {
    from: formatReference(from),
    to: formatReference(to),
    digest,
    manifests,
    blobs,
    referrers,
    sentBytes,
  };
  await printData(io, options.output, data, async () => {
    const counts = [plural(manifests, 'manifest'), plural(blobs, 'blob'), plural(referrers, 'referrer')];
    await printLine(
      io,
      escapeControls(`copied ${data.from} to ${data.to} (${counts.join(', ')}; ${sizeText(sentBytes)} sent)`),
    );
    await printLine(io, `digest: ${digest}`);
  });
}
