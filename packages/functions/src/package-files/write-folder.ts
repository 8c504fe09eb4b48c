import { lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { watchFolder } from '../process/parent-watch.js';
import type { Resource } from '../resource-list/resource.js';
import { attempt, errorCode, fileError } from './file-error.js';
import { formatFiles } from './plan-write.js';

/**
 * Writes resources into a new folder, whole or not at all, also if krmhub is killed. Throws `conflict` if something of
 * that name exists, `storage-full`, `unavailable`.
 */
export function writeFolder(folder: string, resources: readonly Resource[]): void {
  const texts = formatFiles(resources);
  const target = path.resolve(folder);
  const existing = attempt(`cannot write ${folder}`, () => lstatSync(target, { throwIfNoEntry: false }));
  if (existing !== undefined) throw taken(folder);
  let temporary: string | undefined;
  let endWatch = (): void => undefined;
  try {
    mkdirSync(path.dirname(target), { recursive: true });
    temporary = mkdtempSync(path.join(path.dirname(target), `.${path.basename(target)}.`));
    endWatch = watchFolder(temporary);
    const content = path.join(temporary, 'content');
    mkdirSync(content);
    for (const [at, text] of texts) {
      const file = path.join(content, at);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text, { flag: 'wx' });
    }
    renameSync(content, target);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST' || code === 'ENOTEMPTY') throw taken(folder);
    throw fileError(`cannot write ${folder}`, error);
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
    endWatch();
  }
}

function taken(folder: string): KrmhubError {
  return new KrmhubError(
    'conflict',
    `directory ${JSON.stringify(folder)} already exists, please delete the directory and retry`,
  );
}
