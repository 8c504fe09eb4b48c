import { lstat, readFile } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { listPackage, type Package, readPackage } from '@krmhub/functions/fn';
import { KPTFILE, type Kptfile, packageFolders, readKptfile } from '@krmhub/functions/plan';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import { type Io, write } from '../io/io.js';
import type { FnSettings } from './settings.js';

/**
 * Reads the resources of a folder, and says which files it left out, and what it did with a write that was interrupted.
 * A Kptfile that cannot be read is reported in the words of kpt.
 */
export async function readPackageFiles(
  io: Io,
  folder: string,
  { skipsUnreadable }: Pick<FnSettings, 'skipsUnreadable'>,
): Promise<Package> {
  const target = path.resolve(io.cwd, folder);
  try {
    await lstat(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw diskError(error, `cannot read ${folder}`);
    throw new KrmhubError('not-found', `lstat ${folder}: no such file or directory`, {
      hint: 'Use the folder of a package.',
    });
  }
  try {
    const read = await readPackage(target, { skipsUnreadable });
    const notes = read.skipped.map(({ reason }) => `skipped ${reason}`);
    if (read.recovery !== undefined) {
      notes.unshift(`${read.recovery} the write of ${folder} that an earlier command did not finish`);
    }
    for (const note of notes) await write(io.stderr, `warning: ${note}\n`);
    return read;
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'invalid-document') await reportKptfiles(target);
    throw error;
  }
}

/** Returns the Kptfiles of a package and its subpackages, by folder. Throws `not-found` if it has none itself. */
export async function readKptfiles(name: string, { files, folder }: Package): Promise<Map<string, Kptfile>> {
  if (!files.has(KPTFILE)) {
    throw new KrmhubError('not-found', `No Kptfile found at "${folder}"`, {
      hint: `Use the folder of a kpt package. To run one function on any folder: krmhub fn eval ${shellWord(name)}`,
    });
  }
  const kptfiles = new Map<string, Kptfile>();
  for (const at of packageFolders(files.keys())) {
    const { text } = files.get(path.posix.join(at, KPTFILE))!;
    kptfiles.set(at, await readKptfile(text, path.join(folder, at)));
  }
  return kptfiles;
}

/** Throws for the first Kptfile that kpt rejects. */
async function reportKptfiles(root: string): Promise<void> {
  for (const at of packageFolders(listPackage(root).keys())) {
    const folder = path.join(root, at);
    await readKptfile(await readFile(path.join(folder, KPTFILE), 'utf8'), folder);
  }
}
