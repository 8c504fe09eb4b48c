import { misplacedReason, type Subject } from '@krmhub/consume/trust/judge-release';
import { parseReference } from '@krmhub/oci';
import { type Digest, type FunctionName, KrmhubError, sha256 } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { Progress } from '../io/progress.js';
import { connectOci } from '../registry/connect-oci.js';
import { resolveArtifact } from '../registry/release-artifact.js';
import { isDocumentLayer, openManifest, readLayer, readSubject } from '../signatures/trust/read-subject.js';
import { type AuthoredFunction, parseFunction } from './read-function.js';

/** A published release, to test. */
export interface ReleasedFunction extends AuthoredFunction, FunctionName {
  /** As the manifest has it. */
  release: string;
  /** Digest of the definition's exact bytes. */
  digest: Digest;
  /** Digest of the manifest that contains the definition. */
  manifest: string;
}

/**
 * Reads a release from the registry. What it returns has the digests that it names. Throws `not-found`, and `untrusted`
 * if the registry serves another release or function.
 */
export async function readRelease(
  io: Io,
  { group, kind }: FunctionName,
  wanted: string,
  { registry }: { registry?: string },
): Promise<ReleasedFunction> {
  const { name, options } = await resolveArtifact(
    io,
    `${group}/${kind}@${wanted}`,
    registry === undefined ? {} : { registry },
  );
  const reference = parseReference(name);
  const progress = new Progress(io);
  try {
    const client = connectOci(io, progress, options);
    const stored = await client.manifest(reference);
    const { subject, layer } = await readSubject(client, openManifest(reference, stored, isDocumentLayer));
    const problem = findProblem(subject, { group, kind });
    if (problem !== undefined || layer === undefined) {
      throw new KrmhubError(
        'untrusted',
        escapeControls(`cannot test ${name}: ${problem ?? 'it contains no definition'}`),
        { hint: 'Ask the operator of the registry: it serves another artifact.' },
      );
    }
    const bytes = await readLayer(client, reference, layer);
    const release = subject.manifests[0]!.version!;
    const authored = await parseFunction(io, `${group}/${kind}@${release}`, bytes, []);
    return { ...authored, group, kind, release, digest: sha256(bytes), manifest: stored.digest };
  } finally {
    await progress.clear();
  }
}

function findProblem(subject: Subject, { group, kind }: FunctionName): string | undefined {
  const { definitions, manifests, release, unreadable } = subject;
  const problem = unreadable ?? misplacedReason(subject);
  if (problem !== undefined) return problem;
  const [only] = definitions;
  if (only?.group !== group || only.kind !== kind) return `it is not a definition of ${group}/${kind}`;
  const version = manifests[0]?.version;
  if (version === undefined || version !== release?.name) {
    return `its manifest names the release ${version ?? '(none)'}, not ${release?.name}`;
  }
  return undefined;
}
