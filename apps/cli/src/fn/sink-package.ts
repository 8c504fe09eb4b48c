import path from 'node:path';
import { writeFolder } from '@krmhub/functions/fn';
import type { Io } from '../io/io.js';
import { readStdinList } from './read-input.js';
import { requireNewFolder } from './require-new-folder.js';

/** Writes the resources on stdin to a new folder, whole or not at all. */
export async function sinkPackage(io: Io, folder: string): Promise<void> {
  await requireNewFolder(io, { type: 'folder', folder });
  const { resources } = await readStdinList(io);
  writeFolder(path.resolve(io.cwd, folder), resources);
}
