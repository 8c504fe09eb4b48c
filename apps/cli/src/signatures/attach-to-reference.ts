import { formatReference, parseReference } from '@krmhub/oci';
import { parseFunctionRepository } from '@krmhub/oci/function-repository';
import { KrmhubError } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import { hasSubject } from '@krmhub/signing/statement';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { connectOci } from '../registry/connect-oci.js';
import type { ArtifactOptions } from '../registry/release-artifact.js';
import { signInToRepository } from '../registry/workflow-token.js';
import { attachBundle } from './attach-bundle.js';
import { readBundleFile } from './read-bundle-file.js';

/**
 * Pushes a bundle as a referrer of an artifact, as `sign` and cosign do. Throws `untrusted` for a bundle that does not
 * sign the manifest, because no tool would find what it signs.
 */
export async function attachToReference(
  io: Io,
  file: string,
  text: string,
  options: ArtifactOptions & { output: OutputFormat },
): Promise<void> {
  const reference = parseReference(text);
  const { bytes, statement } = await readBundleFile(io, file);
  await signInToRepository(io, reference, options.registry);
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  const {
    digest,
    mediaType,
    bytes: manifest,
  } = await client.manifest(reference).finally(() => progress.clear());
  const name = formatReference(reference);
  await printLine(io, escapeControls(`resolved ${name} to ${digest}`));
  if (statement === undefined || !hasSubject(statement, [digest])) {
    const owner = parseFunctionRepository(reference.repository);
    throw new KrmhubError(
      'untrusted',
      escapeControls(`${file} does not sign the manifest of ${name}, which is ${digest}`),
      {
        hint:
          owner === undefined
            ? escapeControls(`Nothing was sent. Sign the artifact: krmhub sign ${name} --key FILE.key`)
            : 'Nothing was sent. To add a signature of a definition, use GROUP/KIND@RELEASE.',
      },
    );
  }
  const subject = { mediaType, digest, size: manifest.byteLength };
  const { predicateType } = statement;
  const bundle = await attachBundle(client, reference, {
    subject,
    bundle: bytes,
    predicateType,
    created: io.now(),
  }).finally(() => progress.clear());
  await printData(
    io,
    options.output,
    { reference: name, digest, bundle, predicateType },
    async () => undefined,
  );
  await printLine(io, escapeControls(`added ${file} to ${name} (${predicateType})`));
  await printLine(io, `bundle: ${bundle}`);
}
