import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import type { CacheLimits } from './limits.js';
import { RECORD_KINDS } from './record-kinds.js';

interface CachedFile {
  file: string;
  size: number;
  /** When it was last used or written, in milliseconds since 1970. */
  at: number;
}

/**
 * Removes the files that were not used for the longest time, until the cache is small enough. Another process may do
 * the same, or read a file that is removed here: to it the file is missing, and it fetches it again.
 *
 * Removes nothing behind a link: a pipeline restores a cache that other jobs can have written, which could name any
 * folder of the user.
 */
export async function evict(cache: string, now: Date, limits: CacheLimits): Promise<void> {
  const folder = await realpath(cache);
  const { maxBytes, remainingPart, maxRecords, keptMilliseconds, leftoverMilliseconds } = limits;
  const { privateMilliseconds } = limits;
  const before = (milliseconds: number) => now.getTime() - milliseconds;
  const actors = await listActors(folder);
  const parts = [folder, ...actors.map(({ file }) => file)];
  const listAll = async (...names: string[]) =>
    (await Promise.all(parts.map((part) => list(path.join(part, ...names))))).flat();
  for (const { file: part, at } of actors) {
    const names = [path.join('blobs', 'sha256'), ...RECORD_KINDS];
    const used = await Promise.all(names.map((name) => list(path.join(part, name))));
    if (Math.max(at, ...used.flat().map((one) => one.at)) < before(privateMilliseconds))
      await rm(part, { recursive: true, force: true });
  }
  const large = [...(await listAll('blobs', 'sha256')), ...(await listAll('index'))];
  const total = large.reduce((sum, { size }) => sum + size, 0);
  if (total > maxBytes) {
    let excess = total - maxBytes * remainingPart;
    for (const { file, size, at } of large.sort((a, b) => a.at - b.at)) {
      if (excess <= 0 || at > before(keptMilliseconds)) break;
      await rm(file, { force: true });
      excess -= size;
    }
  }
  for (const kind of RECORD_KINDS) {
    const records = (await listAll(kind)).sort((a, b) => b.at - a.at);
    for (const { file } of records.slice(maxRecords)) await rm(file, { force: true });
  }
  for (const { file, at } of await list(path.join(folder, 'tmp'))) {
    if (at < before(leftoverMilliseconds)) await rm(file, { recursive: true, force: true });
  }
}

/** Lists the folders of actors. */
async function listActors(folder: string): Promise<CachedFile[]> {
  const origins = await list(path.join(folder, 'private'));
  return (await Promise.all(origins.map(({ file }) => list(file)))).flat();
}

/** Lists a folder, whose path has no links; nothing of one that is a link, or below one. */
async function list(folder: string): Promise<CachedFile[]> {
  const isReal = (await realpath(folder).catch(() => undefined)) === folder;
  const names = isReal ? await readdir(folder).catch(() => []) : [];
  const found: CachedFile[] = [];
  for (const name of names) {
    const file = path.join(folder, name);
    const status = await lstat(file).catch(() => undefined);
    if (status !== undefined) found.push({ file, size: status.size, at: status.mtimeMs });
  }
  return found;
}
