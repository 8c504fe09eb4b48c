import { createHash } from 'node:crypto';
import { chmod, mkdtemp, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { EXECUTABLE_LIMITS, type ExecutableLimits } from '../archives/limits.js';
import { unpackExecutable } from '../archives/unpack.js';
import { makePrivateFolder } from './private-folder.js';
import { copyVerified } from './verified-copy.js';

export interface ExecutableSource {
  /** What was downloaded: a program, or a tar.gz, tar, or zip archive. */
  file: string;
  /** Digest of that file. */
  sha256: Digest;
  /** Path of the program in an archive; its last part becomes the name of the installed file. */
  bin: string;
}

export interface InstalledExecutable {
  file: string;
  /** Digest of the installed file. It differs from that of an archive. `runExecutable` needs it. */
  sha256: Digest;
}

const EXECUTABLE_MODE = 0o500;

/**
 * Installs the executable of a function in a folder that only this user can write, and makes the folder if necessary.
 * The digest is that of the bytes which are unpacked: they are read once, into a private copy. Nothing is run, and
 * nothing but the executable stays in the folder.
 *
 * Rejects with `digest-mismatch`, with `too-large`, with `not-found` if an archive has no `bin`, with
 * `invalid-document` for an archive that could write outside of its folder, and with `unsupported-media-type` for other
 * files.
 */
export async function installExecutable(
  source: ExecutableSource,
  folder: string,
  limits: ExecutableLimits = EXECUTABLE_LIMITS,
): Promise<InstalledExecutable> {
  const name = executableName(source.bin);
  await makePrivateFolder(folder);
  const temporary = await mkdtemp(path.join(folder, '.install-'));
  try {
    const archive = await copyVerified({
      from: source.file,
      to: path.join(temporary, 'source'),
      sha256: source.sha256,
      mode: 0o600,
      maxBytes: limits.maxSourceBytes,
      name,
    });
    const unpacked = path.join(temporary, 'executable');
    const hash = createHash('sha256');
    try {
      const target = await open(unpacked, 'wx', 0o600);
      try {
        const write = async (piece: Buffer) => {
          hash.update(piece);
          await target.writeFile(piece);
        };
        await unpackExecutable({ archive, bin: source.bin, write, limits });
      } finally {
        await target.close();
      }
    } finally {
      await archive.close();
    }
    await chmod(unpacked, EXECUTABLE_MODE);
    const file = path.join(folder, name);
    await rename(unpacked, file);
    return { file, sha256: `sha256:${hash.digest('hex')}` };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** The last part of `bin`. Throws `invalid-document` for a name that is not one of a file below a folder. */
function executableName(bin: string): string {
  const parts = bin.split('/');
  const isValid =
    /^[^\u0000-\u001f\u007f\\:]{1,255}$/.test(bin) && !bin.startsWith('/') && !parts.includes('..');
  const name = parts.at(-1) ?? '';
  if (isValid && name !== '' && name !== '.' && !name.startsWith('-')) return name;
  throw new KrmhubError('invalid-document', `"${bin}" is not the path of a program in an archive`, {
    hint: 'The field `bin` of the definition must be a relative path such as `bin/my-function`.',
  });
}
