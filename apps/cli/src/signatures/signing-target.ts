import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { parseReference, type Reference } from '@krmhub/oci';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { diskError } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { visible } from '../io/text.js';

/** What is signed or verified: a file, an artifact in an OCI registry, or bytes of which there is nothing but the digest. */
export type SigningTarget =
  | { kind: 'file'; name: string; path: string }
  | { kind: 'reference'; reference: Reference }
  | { kind: 'digest'; digest: Digest };

/** A file that is there wins. Throws `not-found` for what is nothing of all this. */
export async function findTarget(io: Pick<Io, 'cwd'>, name: string): Promise<SigningTarget> {
  const full = path.resolve(io.cwd, name);
  const status = await stat(full).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(error.code ?? '')) return undefined;
    throw diskError(error, visible(`cannot read ${name}`));
  });
  if (status?.isFile()) return { kind: 'file', name, path: full };
  if (status !== undefined) {
    throw new KrmhubError('usage', visible(`${name} is no file, and one file is signed at a time`), {
      hint: 'Name the file itself.',
    });
  }
  if (/^sha256:[a-f0-9]{64}$/.test(name)) return { kind: 'digest', digest: name as Digest };
  try {
    return { kind: 'reference', reference: parseReference(name) };
  } catch (cause) {
    if (!(cause instanceof KrmhubError)) throw cause;
    throw new KrmhubError('not-found', visible(`there is no file ${name}, and ${cause.message}`), {
      hint: 'Name a file that is there, HOST/REPOSITORY:TAG, HOST/REPOSITORY@sha256:…, or sha256:… alone.',
      cause,
    });
  }
}

/** Digests of a file of any size; the first is the one that is signed. */
export async function fileDigests(file: { name: string; path: string }): Promise<[Digest, string]> {
  const [sha256, sha512] = [createHash('sha256'), createHash('sha512')];
  try {
    for await (const piece of createReadStream(file.path) as AsyncIterable<Uint8Array>) {
      sha256.update(piece);
      sha512.update(piece);
    }
  } catch (error) {
    throw diskError(error, visible(`cannot read ${file.name}`));
  }
  return [`sha256:${sha256.digest('hex')}`, `sha512:${sha512.digest('hex')}`];
}
