import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readFolder } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import type { TestedResource } from '@krmhub/signing/test-result';
import { fileDigests } from '../signatures/signing-target.js';

/**
 * Returns the examples in a folder with the digest of the list of their files, as `sha256sum` writes it: for each file
 * a line of its digest and its path, in the order of the paths. Links are not part of it.
 */
export async function examplesResource(io: WorkingFolder, folder: string): Promise<TestedResource[]> {
  const root = path.join(folder, 'examples');
  if (!existsSync(path.resolve(io.cwd, root))) return [];
  const names = (await listFiles(io, root)).map((file) =>
    path.relative(folder, file).split(path.sep).join('/'),
  );
  if (names.length === 0) return [];
  const list = createHash('sha256');
  for (const name of names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    const [digest] = await fileDigests({ name, path: path.resolve(io.cwd, folder, name) });
    list.update(`${digest.slice('sha256:'.length)}  ${name}\n`);
  }
  return [{ name: 'examples', digest: { sha256: list.digest('hex') } }];
}

async function listFiles(io: WorkingFolder, folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readFolder(io, folder)) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(await listFiles(io, name)));
    else if (entry.isFile()) files.push(name);
  }
  return files;
}
