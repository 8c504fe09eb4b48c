import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import type { Subject } from '@krmhub/consume/trust/judge-release';
import { type Digest, DOCUMENT_LIMITS, type FunctionName, KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls } from '@krmhub/schema/text';
import type { SigningTarget } from '../signing-target.js';
import { findDefinitions } from './read-subject.js';

/** Reads which function the definition in a file is of. A digest has no content to read. */
export async function readFileSubject(
  io: WorkingFolder,
  target: Exclude<SigningTarget, { kind: 'reference' }>,
  digest: string,
): Promise<Subject> {
  const definitions = target.kind === 'file' ? await readDefinitionNames(io, target.name, digest) : [];
  return {
    definitions,
    ...defined({ definition: definitions.length === 1 ? (digest as Digest) : undefined }),
    manifests: [],
  };
}

/** Returns an empty list if the file is too large to be a definition. */
async function readDefinitionNames(io: WorkingFolder, name: string, digest: string): Promise<FunctionName[]> {
  const { maxDefinitionBytes } = DOCUMENT_LIMITS;
  const bytes = await readFileUpTo(io, name, maxDefinitionBytes);
  if (bytes.byteLength > maxDefinitionBytes) return [];
  if (sha256(bytes) === digest) return findDefinitions(bytes).names;
  throw new KrmhubError('conflict', escapeControls(`${name} changed while krmhub was reading it`));
}
