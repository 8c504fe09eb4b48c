import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readResources } from '../resource-list/read-resources.js';
import { configMap, folderContent, packageFolder, usePackageFolders } from '../testing/package-folder.js';
import { applyWrite } from './apply-write.js';
import { planWrite } from './plan-write.js';
import { type Package, readPackage } from './read-package.js';
import { recoverPackage } from './recover-package.js';
import { makePrivateFolder, privateWriteFolder } from './write-owner.js';

usePackageFolders();

const FILES = {
  'a.yaml': configMap('a'),
  'b.yaml': `${configMap('b')}---\n${configMap('c')}`,
  'inner/d.yaml': configMap('d'),
  'notes.txt': 'not a resource\n',
};

/** Changes a, deletes b and c, and adds e. */
function changed({ resources }: Package) {
  const kept = resources.filter(({ path: at }) => at !== 'b.yaml' && at !== 'a.yaml');
  const added = readResources(configMap('a', 'changed'), { path: 'a.yaml' });
  return [...kept, ...added, ...readResources(configMap('e'), { path: 'new/folder/e.yaml' })];
}

const AFTER = {
  'a.yaml': configMap('a', 'changed'),
  'inner/d.yaml': configMap('d'),
  'new/folder/e.yaml': configMap('e'),
  'notes.txt': 'not a resource\n',
};

async function opened(files: Readonly<Record<string, string>> = FILES) {
  const folder = packageFolder(files);
  const read = await readPackage(folder);
  return { folder, read, plan: planWrite(read, changed(read)) };
}

describe('applyWrite', () => {
  it('updates, deletes and creates files, and leaves nothing behind', async () => {
    const { folder, read, plan } = await opened();
    expect(plan.changes.map(({ type, path: at }) => `${type} ${at}`)).toEqual([
      'update a.yaml',
      'create new/folder/e.yaml',
      'delete b.yaml',
    ]);
    await applyWrite(read, plan);
    expect(folderContent(folder)).toEqual(AFTER);
  });

  it('plans no file that could not be read again', async () => {
    const { read } = await opened();
    const limits = { maxFileBytes: configMap('a', 'changed').length - 1 };
    expect(() => planWrite(read, changed(read), limits)).toThrow(
      'cannot write a.yaml: it would have more than',
    );
    expect(planWrite(read, read.resources, { maxFileBytes: 1 }).changes).toEqual([]);
  });

  it('does not touch files that stay the same, and keeps permissions', async () => {
    const { folder, read } = await opened();
    const file = path.join(folder, 'inner/d.yaml');
    utimesSync(file, 1, 1);
    chmodSync(path.join(folder, 'a.yaml'), 0o640);
    const again = await readPackage(folder);
    await applyWrite(again, planWrite(again, changed(read)));
    expect(statSync(file).mtimeMs).toBe(1_000);
    expect(statSync(path.join(folder, 'a.yaml')).mode & 0o777).toBe(0o640);
  });

  it.each([
    ['an edited file', (folder: string) => writeFileSync(path.join(folder, 'inner/d.yaml'), configMap('x'))],
    [
      'an edited file of the same size',
      (folder: string) => writeFileSync(path.join(folder, 'a.yaml'), configMap('z')),
    ],
    ['a new file', (folder: string) => writeFileSync(path.join(folder, 'z.yaml'), configMap('z'))],
    ['a removed file', (folder: string) => execFileSync('rm', [path.join(folder, 'b.yaml')])],
    [
      'a file where one is created',
      (folder: string) => {
        mkdirSync(path.join(folder, 'new/folder'), { recursive: true });
        symlinkSync('/etc/hostname', path.join(folder, 'new/folder/e.yaml'));
      },
    ],
  ])('refuses a package with %s', async (_, edit) => {
    const { folder, read, plan } = await opened();
    edit(folder);
    const before = folderContent(folder);
    await expect(applyWrite(read, plan)).rejects.toMatchObject({ code: 'conflict' });
    expect(folderContent(folder)).toEqual(before);
  });

  it('accepts a file that was touched', async () => {
    const { folder, read, plan } = await opened();
    utimesSync(path.join(folder, 'inner/d.yaml'), 5, 5);
    await applyWrite(read, plan);
    expect(folderContent(folder)).toEqual(AFTER);
  });

  it('refuses a file that the user may not write, before it writes', async () => {
    const { folder } = await opened();
    chmodSync(path.join(folder, 'a.yaml'), 0o444);
    const read = await readPackage(folder);
    const writing = applyWrite(read, planWrite(read, changed(read)));
    if (process.getuid?.() === 0) {
      // It may write all files.
      await writing;
      expect(statSync(path.join(folder, 'a.yaml')).mode & 0o777).toBe(0o444);
    } else {
      await expect(writing).rejects.toThrow('cannot write a.yaml: permission denied');
      expect(folderContent(folder)).toEqual(FILES);
    }
  });

  it('writes the file that a link leads to, and leaves the link', async () => {
    const folder = packageFolder({ 'shared/a.txt': configMap('a') });
    symlinkSync('shared/a.txt', path.join(folder, 'a.yaml'));
    chmodSync(path.join(folder, 'shared/a.txt'), 0o640);
    const read = await readPackage(folder);
    const plan = planWrite(read, readResources(configMap('a', 'changed'), { path: 'a.yaml' }));
    await applyWrite(read, plan);
    expect(folderContent(folder)).toEqual({ 'a.yaml': '<link>', 'shared/a.txt': configMap('a', 'changed') });
    expect(statSync(path.join(folder, 'shared/a.txt')).mode & 0o777).toBe(0o640);
  });

  it('writes nothing if a link was changed', async () => {
    const folder = packageFolder({ 'a.txt': configMap('a'), 'b.txt': configMap('a') });
    symlinkSync('a.txt', path.join(folder, 'a.yaml'));
    const read = await readPackage(folder);
    const plan = planWrite(read, readResources(configMap('a', 'changed'), { path: 'a.yaml' }));
    rmSync(path.join(folder, 'a.yaml'));
    symlinkSync('b.txt', path.join(folder, 'a.yaml'));
    await expect(applyWrite(read, plan)).rejects.toThrow('a.yaml was changed while the functions ran');
    expect(folderContent(folder)).toEqual({
      'a.yaml': '<link>',
      'a.txt': configMap('a'),
      'b.txt': configMap('a'),
    });
  });

  it('does not write through a linked folder', async () => {
    const outside = packageFolder({ 'keep.txt': 'x' });
    const { folder, read, plan } = await opened();
    symlinkSync(outside, path.join(folder, 'new'));
    await expect(applyWrite(read, plan)).rejects.toThrow('new is a symbolic link');
    expect(folderContent(outside)).toEqual({ 'keep.txt': 'x' });
    expect(readFileSync(path.join(folder, 'a.yaml'), 'utf8')).toBe(FILES['a.yaml']);
  });

  it('stops when it is aborted, with the files as they were', async () => {
    const { folder, read, plan } = await opened();
    const controller = new AbortController();
    const writing = applyWrite(read, plan, { signal: controller.signal });
    controller.abort(new Error('stopped'));
    await expect(writing).rejects.toThrow('stopped');
    expect(folderContent(folder)).toEqual(FILES);
  });

  it('puts all files back if one was edited after the check, and keeps the edit', async () => {
    const { folder, read, plan } = await opened();
    // The last of the changes deletes it.
    const file = path.join(folder, 'b.yaml');
    const { stringify } = JSON;
    // Of the journal, which is written after the check.
    vi.spyOn(JSON, 'stringify').mockImplementationOnce((value) => {
      writeFileSync(file, 'edited');
      return stringify(value);
    });
    await expect(applyWrite(read, plan)).rejects.toThrow(
      'b.yaml: it was changed while the package was written',
    );
    expect(folderContent(folder)).toEqual({ ...FILES, 'b.yaml': 'edited' });
  });

  it('lets one of two writes win', async () => {
    const { folder, read, plan } = await opened();
    const results = await Promise.allSettled([applyWrite(read, plan), applyWrite(read, plan)]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(folderContent(folder)).toEqual(AFTER);
  });
});

describe('recoverPackage', () => {
  it('removes what a killed process had prepared', async () => {
    const { folder } = await opened();
    const gone = privateWriteFolder(folder, { id: 4_194_305, start: 1 });
    mkdirSync(gone);
    writeFileSync(path.join(gone, 'new.0'), 'x');
    await recoverPackage(folder);
    expect(existsSync(gone)).toBe(false);
    expect(folderContent(folder)).toEqual(FILES);
  });

  it('leaves what a process prepares that runs', async () => {
    const { folder } = await opened();
    const prepared = [privateWriteFolder(folder), privateWriteFolder(folder, { id: process.ppid, start: 0 })];
    for (const place of prepared) makePrivateFolder(place);
    await recoverPackage(folder);
    expect(prepared.map((place) => existsSync(place))).toEqual([true, true]);
  });
});
