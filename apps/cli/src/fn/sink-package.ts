import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { applyWrite, type FileFormat, planWrite, writeFolder } from '@krmhub/functions/fn';
import type { Io } from '../io/io.js';
import { readStdinList } from './read-input.js';
import { readPackageFiles } from './read-package-files.js';
import { requireNewFolder } from './require-new-folder.js';
import { printNotes } from './write-output.js';

/**
 * Writes the resources on stdin to a folder, whole or not at all. Files that exist are edited, so that they have these
 * resources and no others; the other files of the folder stay. With the format of kpt, the folder has to be new.
 */
export async function sinkPackage(io: Io, folder: string, { format }: { format: FileFormat }): Promise<void> {
  const target = path.resolve(io.cwd, folder);
  const exists = (await lstat(target).catch(() => undefined)) !== undefined;
  if (exists && format === 'kpt') await requireNewFolder(io, { type: 'folder', folder });
  const { resources } = await readStdinList(io);
  if (!exists) {
    writeFolder(target, resources);
    return;
  }
  const files = await readPackageFiles(io, folder, { skipsUnreadable: false });
  const plan = planWrite(files, resources, { format });
  // Of files that are not named.
  plan.changes = plan.changes.filter(({ type }) => type !== 'delete');
  await printNotes(io, plan);
  await applyWrite(files, plan);
}
