import path from 'node:path';
import { computeDigest, releaseFiles, releaseManifest } from '@krmhub/oci';
import { type Digest, DOCUMENT_LIMITS, hasErrors, KrmhubError, lint } from '@krmhub/schema';
import { releaseStatement, type Statement, signatureStatement } from '@krmhub/signing';
import { nameReleases, readDefinitions, type Submission } from '../documents/read-definitions.js';
import { readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { plural } from '../io/text.js';

/** A file is signed as what it is: bytes, of which nothing more is said. */
export async function statementOfFile(io: Io, name: string, digest: Digest): Promise<Statement> {
  if (await isDefinition(io, name)) {
    await printLine(
      io,
      'This signs the bytes and no release: to publish it with the definition, say --release too.',
    );
  }
  return signatureStatement({ [path.basename(name)]: digest });
}

/** That a definition, and the manifest that a registry makes of it, are a certain release. */
export async function statementOfRelease(
  io: Io,
  name: string,
  { release, readme }: { release: string; readme?: string },
): Promise<Statement> {
  const { definitions, diagnostics, sources } = await readDefinitions(io, [name]);
  if (hasErrors(diagnostics)) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, sources);
    throw new KrmhubError(
      'invalid-document',
      `${plural(errors.length, 'error')} in ${name}; nothing is signed`,
    );
  }
  const submissions = nameReleases(definitions, release);
  const [submission] = submissions;
  if (submission === undefined || submissions.length > 1 || !submission.exact) {
    throw new KrmhubError('usage', `${name} is no single definition, which a release is`, {
      hint: 'Write the definition into a file of its own; `krmhub convert` takes a catalog apart.',
    });
  }
  return statementOfSubmission(submission, readme === undefined ? undefined : await readReadme(io, readme));
}

/** The definition and the manifest that a registry makes of it and of the README, which has no time in it. */
export function statementOfSubmission(
  submission: Pick<Submission, 'group' | 'kind' | 'release' | 'bytes' | 'mediaType'>,
  readme: Uint8Array | undefined,
): Statement {
  const { bytes, mediaType, release } = submission;
  const describe = (file: Uint8Array) => ({ digest: computeDigest(file), size: file.byteLength });
  const definition = describe(bytes);
  const files = releaseFiles({
    definition: { ...definition, mediaType },
    readme: readme && describe(readme),
  });
  const manifest = computeDigest(releaseManifest(release, files));
  return releaseStatement(submission, { definition: definition.digest as Digest, manifest });
}

async function readReadme(io: Io, name: string): Promise<Uint8Array> {
  const { PUBLISH_LIMITS } = await import('@krmhub/catalog');
  const bytes = await readFileUpTo(io, name, PUBLISH_LIMITS.maxReadmeBytes);
  if (bytes.byteLength > PUBLISH_LIMITS.maxReadmeBytes) {
    throw new KrmhubError('too-large', `${name} has more than ${PUBLISH_LIMITS.maxReadmeBytes} bytes`);
  }
  return bytes;
}

async function isDefinition(io: Io, name: string): Promise<boolean> {
  if (!/\.(ya?ml|json)$/i.test(name)) return false;
  const bytes = await readFileUpTo(io, name);
  if (bytes.byteLength > DOCUMENT_LIMITS.maxSourceBytes) return false;
  const { documents } = lint(bytes, { file: name });
  return documents.length === 1 && documents[0]!.kind === 'KRMFunctionDefinition';
}
