import { lstat } from 'node:fs/promises';
import path from 'node:path';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import type { OutputTarget } from './settings.js';

/** Throws `conflict` if the folder of an output exists, before anything runs. */
export async function requireNewFolder(io: WorkingFolder, target: OutputTarget): Promise<void> {
  if (target.type !== 'folder') return;
  const { folder } = target;
  const found = await lstat(path.resolve(io.cwd, folder)).catch(() => undefined);
  if (found === undefined) return;
  throw new KrmhubError(
    'conflict',
    `directory "${folder}" already exists, please delete the directory and retry`,
  );
}
