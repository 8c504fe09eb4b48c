import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { parseReference, type Reference } from '@krmhub/oci';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';

/** The object to sign or verify: a file, an OCI artifact, or only a digest. */
export type SigningTarget =
  | { kind: 'file'; name: string; path: string }
  | { kind: 'reference'; reference: Reference }
  | { kind: 'digest'; digest: Digest };

/** Finds the target that a name means; an existing file takes precedence. Throws `not-found` or `usage`. */
export async function findTarget(io: WorkingFolder, name: string): Promise<SigningTarget> {
  const full = path.resolve(io.cwd, name);
  const status = await stat(full).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(error.code ?? '')) return undefined;
    throw diskError(error, escapeControls(`cannot read ${name}`));
  });
  if (status?.isFile()) return { kind: 'file', name, path: full };
  if (status !== undefined) {
    throw new KrmhubError('usage', escapeControls(`${name} is not a regular file`), {
      hint: 'Use one file, for example: catalog.yaml',
    });
  }
  if (/^sha256:[a-f0-9]{64}$/.test(name)) return { kind: 'digest', digest: name as Digest };
  try {
    return { kind: 'reference', reference: parseReference(name) };
  } catch (cause) {
    if (!(cause instanceof KrmhubError)) throw cause;
    throw new KrmhubError(
      'not-found',
      escapeControls(`${name} is neither a file nor an OCI reference: ${cause.message}`),
      {
        hint: 'Use an existing file, HOST/REPOSITORY:TAG, HOST/REPOSITORY@sha256:…, or sha256:….',
        cause,
      },
    );
  }
}

/** Returns the sha256 and sha512 digests of a file of any size; the sha256 digest is signed. */
export async function fileDigests(file: { name: string; path: string }): Promise<[Digest, string]> {
  const [sha256, sha512] = [createHash('sha256'), createHash('sha512')];
  try {
    for await (const piece of createReadStream(file.path) as AsyncIterable<Uint8Array>) {
      sha256.update(piece);
      sha512.update(piece);
    }
  } catch (error) {
    throw diskError(error, escapeControls(`cannot read ${file.name}`));
  }
  return [`sha256:${sha256.digest('hex')}`, `sha512:${sha512.digest('hex')}`];
}
