import { mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import { printable } from '@krmhub/schema/network-reason';
import type { SourceContext } from '../context.js';
import { SourceFailure, tooLargeFailure } from '../failure.js';
import { withRepository } from './git-source.js';
import type { RepositoryFile } from './remote-repository.js';

/** Bytes of the files that are read from git at once. */
const BATCH_BYTES = 16_777_216;
/** A path that is inside its folder on every system, and not part of a git repository. */
const PART = /^(?!\.{1,2}$)(?!\.git$)[^\\/\p{Cc}]+$/iu;

/** Of links to links, in the order of their names. */
const MAX_LINK_CHAIN = 8;

/**
 * Writes the regular files of a commit, and the links that stay inside it. Rejects with SourceFailures, and with errors
 * of the disk.
 */
export async function fetchGitTree(
  {
    address,
    folder,
    namedBy,
  }: { address: Extract<SourceAddress, { type: 'git' }>; folder: string; namedBy?: string },
  context: SourceContext,
): Promise<string> {
  if (namedBy !== undefined && address.repository.startsWith('file:')) {
    throw new SourceFailure(
      'forbidden-address',
      `a base of another host cannot name a repository on this disk`,
    );
  }
  return withRepository(address, context, async ({ repository, limits, host }) => {
    await repository.checkVersion();
    const found = await repository.resolveRef(address.ref);
    const commit = await repository.fetch(found.ref, found.commit);
    const listed = await repository.listFiles(commit, [''], { links: true });
    if (listed.length > limits.maxTreeFiles) {
      const message = `the repository of ${host} has ${listed.length} files; the limit is ${limits.maxTreeFiles}`;
      throw new SourceFailure('too-large', message, {
        hint: 'Copy the required files to a smaller repository.',
      });
    }
    const all = await repository.fetchFiles(listed, { all: true });
    const files = all.filter(({ size }) => size <= limits.maxTreeFileBytes);
    const size = files.reduce((sum, one) => sum + one.size, 0);
    if (size > limits.maxRepositoryBytes) {
      throw tooLargeFailure(`the repository of ${host}`, limits.maxRepositoryBytes);
    }
    for (const { path: name } of files) {
      if (name.split('/').every((part) => PART.test(part))) continue;
      throw new SourceFailure('bad-answer', `the repository of ${host} has the file "${printable(name)}"`, {
        hint: 'Use another repository: this file name is not allowed.',
      });
    }
    // What an interrupted attempt has written.
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const links = new Map<string, string>();
    for (const batch of batches(files)) {
      const contents = await repository.readFiles(batch);
      for (const [index, { path: name, isExecutable, isLink }] of batch.entries()) {
        const file = path.join(folder, ...name.split('/'));
        await mkdir(path.dirname(file), { recursive: true });
        if (isLink) {
          links.set(file, Buffer.from(contents[index]!).toString('utf8'));
          continue;
        }
        // Two names that differ only in case are one file on some disks.
        await writeFile(file, contents[index]!, { flag: 'wx', mode: isExecutable ? 0o755 : 0o644 });
      }
    }
    await writeLinks(folder, links);
    return commit;
  });
}

/**
 * Writes links after all files, so that nothing is written through one. A link is written once its target is there, and
 * inside the folder with all links resolved: nothing that is written later can change where it leads.
 */
async function writeLinks(folder: string, links: Map<string, string>): Promise<void> {
  const root = await realpath(folder);
  const pending = new Map(links);
  for (let pass = 0; pass < MAX_LINK_CHAIN && pending.size > 0; pass++) {
    const before = pending.size;
    for (const [file, target] of pending) {
      if (path.isAbsolute(target)) continue;
      // Not joined: `..` after a link is relative to where the link leads.
      const found = await realpath(`${path.dirname(file)}/${target}`).catch(() => undefined);
      if (found === undefined || (found !== root && !found.startsWith(root + path.sep))) continue;
      await symlink(target, file).catch((error: NodeJS.ErrnoException) => {
        // A system or a disk without links.
        if (error.code !== 'EPERM') throw error;
      });
      pending.delete(file);
    }
    if (pending.size === before) return;
  }
}

function* batches(files: readonly RepositoryFile[]): Generator<RepositoryFile[]> {
  let batch: RepositoryFile[] = [];
  let size = 0;
  for (const file of files) {
    if (batch.length > 0 && size + file.size > BATCH_BYTES) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(file);
    size += file.size;
  }
  if (batch.length > 0) yield batch;
}
