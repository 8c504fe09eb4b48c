import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { misplacedReason } from '@krmhub/consume/trust/judge-release';
import {
  computeDigest,
  type OciClient,
  type Reference,
  releaseFiles,
  releaseManifest,
  type StoredManifest,
} from '@krmhub/oci';
import { type Digest, DOCUMENT_LIMITS, hasErrors, KrmhubError, lint } from '@krmhub/schema';
import { plural, shellWord } from '@krmhub/schema/text';
import {
  predicateStatement,
  releaseStatement,
  SIGNATURE_PREDICATE,
  type Statement,
  signatureStatement,
} from '@krmhub/signing';
import { assignReleases, readDefinitions, type Submission } from '../documents/read-definitions.js';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { isDocumentLayer, openManifest, readSubject } from './trust/read-subject.js';

/** Returns a statement about the bytes of a file. Prints a hint if the file is a definition. */
export async function fileStatement(io: Io, name: string, digest: Digest): Promise<Statement> {
  if (await isDefinition(io, name)) {
    await printLine(
      io,
      'the signature is for the bytes, not for a release; to sign a release, add --release',
    );
  }
  return signatureStatement({ [path.basename(name)]: digest });
}

/** Returns a statement that a definition, and the manifest of its release, are a release. */
export async function releaseFileStatement(
  io: Io,
  name: string,
  { release, readme }: { release: string; readme?: string },
): Promise<Statement> {
  const { definitions, diagnostics, sources } = await readDefinitions(io, [name]);
  if (hasErrors(diagnostics)) {
    await refuseLocalScript(io, name, release, { diagnostics, sources });
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, sources);
    throw new KrmhubError('invalid-document', `cannot sign ${name}: ${plural(errors.length, 'error')}`, {
      hint: `Fix the errors above, then check: krmhub lint ${shellWord(name)}`,
    });
  }
  const submissions = assignReleases(definitions, release);
  const [submission] = submissions;
  if (submission === undefined || submissions.length > 1 || !submission.exact) {
    throw new KrmhubError('usage', `cannot sign ${name} as a release: it is not a single definition`, {
      hint: `Split a catalog into definitions: krmhub convert ${shellWord(name)} --out FOLDER`,
    });
  }
  return submissionStatement(submission, readme === undefined ? undefined : await readReadme(io, readme));
}

/** Throws if the only errors are paths of scripts: `krmhub publish` replaces them with what it pushes. */
async function refuseLocalScript(
  io: Io,
  name: string,
  release: string,
  { diagnostics, sources }: Pick<Awaited<ReturnType<typeof readDefinitions>>, 'diagnostics' | 'sources'>,
): Promise<void> {
  const bytes = sources.get(name);
  if (bytes === undefined) return;
  const { readLocalScripts, withoutReferences } = await import('../scripts/local-scripts.js');
  const scripts = await readLocalScripts(io, name, bytes);
  if (scripts.length === 0 || hasErrors(withoutReferences(diagnostics, scripts))) return;
  throw new KrmhubError(
    'invalid-document',
    `cannot sign ${name} as a release: the release gets the reference and the digest of its script`,
    {
      hint: `Sign the release when you publish it: krmhub publish ${shellWord(name)} --release ${release} --key FILE.key`,
    },
  );
}

/**
 * Returns a statement that the definition in an artifact is the release of its tag, so that it cannot be served as
 * another one. Without a tag, the manifest names the release. For anything else, returns a plain signature.
 */
export async function artifactStatement(
  client: OciClient,
  reference: Reference,
  stored: StoredManifest,
): Promise<Statement> {
  const { digest: manifest } = stored;
  const { subject } = await readSubject(client, openManifest(reference, stored, isDocumentLayer));
  const { definitions, definition, release, manifests } = subject;
  const [only] = definitions;
  const named = manifests[0]?.version ?? release?.name;
  const isRelease = release?.name === named && misplacedReason(subject) === undefined;
  if (only === undefined || definition === undefined || release === undefined || !isRelease)
    return predicateStatement({ digest: manifest }, SIGNATURE_PREDICATE, {});
  return releaseStatement({ ...only, release: release.name }, { definition, manifest });
}

/**
 * Returns the statement of a release: its definition, and the manifest that the registry builds from it and the README.
 */
export function submissionStatement(submission: Submission, readme: Uint8Array | undefined): Statement {
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
    throw new KrmhubError('too-large', `README ${name} exceeds ${PUBLISH_LIMITS.maxReadmeBytes} bytes`);
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
