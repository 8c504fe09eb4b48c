import {
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderContent, packageFolder, usePackageFolders } from '../testing/package-folder.js';
import { applyJournal, revertJournal } from './complete-write.js';
import { JOURNAL, type Journal, OWNER_FILE, writeFolderOf } from './journal.js';
import { recoverPackage } from './recover-package.js';

usePackageFolders();

const BEFORE = { 'a.yaml': 'old a', 'b.yaml': 'old b', 'c.yaml': 'old c' };
const AFTER = { 'a.yaml': 'new a', 'b.yaml': 'new b', 'inner/d.yaml': 'new d' };
const JOURNAL_OF_CHANGES: Journal = {
  folders: ['inner'],
  changes: [
    { path: 'a.yaml', new: 'new.0', old: 'old.0', isCreated: false },
    { path: 'inner/d.yaml', new: 'new.1', isCreated: true },
    { path: 'c.yaml', old: 'old.2', isCreated: false },
    { path: 'b.yaml', new: 'new.3', old: 'old.3', isCreated: false },
  ],
};

/** A write that was decided by a process that has ended. */
function decided(journal: Journal = JOURNAL_OF_CHANGES) {
  const folder = packageFolder(BEFORE);
  const writeFolder = writeFolderOf(folder);
  mkdirSync(writeFolder);
  writeOwner(writeFolder, { id: 4_194_305, start: 1 });
  for (const [name, text] of Object.entries({ 'new.0': 'new a', 'new.1': 'new d', 'new.3': 'new b' })) {
    writeFileSync(path.join(writeFolder, name), text);
  }
  for (const [name, file] of Object.entries({ 'old.0': 'a.yaml', 'old.2': 'c.yaml', 'old.3': 'b.yaml' })) {
    linkSync(path.join(folder, file), path.join(writeFolder, name));
  }
  writeFileSync(path.join(writeFolder, JOURNAL), JSON.stringify(journal));
  return { folder, writeFolder };
}

function writeOwner(writeFolder: string, owner: { id: number; start: number }): void {
  const inode = String(lstatSync(writeFolder).ino);
  writeFileSync(path.join(writeFolder, OWNER_FILE), JSON.stringify({ ...owner, inode }));
}

/** What is done of a journal after so many of its changes. */
const first = (count: number): Journal => ({
  folders: JOURNAL_OF_CHANGES.folders,
  changes: JOURNAL_OF_CHANGES.changes.slice(0, count),
});

describe.each([0, 1, 2, 3, 4])('a write that was killed after %d changes', (count) => {
  it('is completed', async () => {
    const { folder, writeFolder } = decided();
    applyJournal(folder, writeFolder, first(count));
    await recoverPackage(folder);
    expect(folderContent(folder)).toEqual(AFTER);
    await recoverPackage(folder);
    expect(folderContent(folder)).toEqual(AFTER);
  });

  it('can be reverted', () => {
    const { folder, writeFolder } = decided();
    applyJournal(folder, writeFolder, first(count));
    revertJournal(folder, writeFolder, JOURNAL_OF_CHANGES);
    rmSync(writeFolder, { recursive: true });
    expect(folderContent(folder)).toEqual(BEFORE);
  });
});

describe('recoverPackage', () => {
  it('does not overwrite what the user wrote after the kill', async () => {
    const { folder, writeFolder } = decided();
    applyJournal(folder, writeFolder, first(1));
    rmSync(path.join(folder, 'b.yaml'));
    writeFileSync(path.join(folder, 'b.yaml'), 'edited');
    await expect(recoverPackage(folder)).rejects.toMatchObject({
      code: 'conflict',
      hint: 'To keep the files as they are now, remove .krmhub-fn from the package.',
    });
    expect(readFileSync(path.join(folder, 'b.yaml'), 'utf8')).toBe('edited');
    rmSync(writeFolder, { recursive: true });
    await recoverPackage(folder);
  });

  it.each([
    ['a path out of the package', { path: '../x.yaml', new: 'new.0', isCreated: true }],
    ['an absolute path', { path: '/x.yaml', new: 'new.0', isCreated: true }],
    ['a staged file of another folder', { path: 'x.yaml', new: '../../a', isCreated: true }],
  ])('refuses a journal with %s', async (_, change) => {
    const { folder } = decided({ folders: [], changes: [change] });
    const before = folderContent(folder);
    await expect(recoverPackage(folder)).rejects.toThrow('journal is damaged');
    expect(folderContent(folder)).toEqual(before);
  });

  it.each([
    ['a change', { folders: [], changes: [{ path: 'link/keys', new: 'new.0', isCreated: true }] }],
    ['a deletion', { folders: [], changes: [{ path: 'link/kept', isCreated: false }] }],
    ['a new folder', { folders: ['link/inner'], changes: [] }],
  ])('does not follow a link that leads out of the package, for %s', async (_, journal) => {
    const outside = packageFolder({ kept: 'x' });
    const { folder, writeFolder } = decided(journal);
    symlinkSync(outside, path.join(folder, 'link'));
    await expect(recoverPackage(folder)).rejects.toMatchObject({ code: 'conflict' });
    expect(() => revertJournal(folder, writeFolder, journal)).toThrow('link is not a folder');
    expect(folderContent(outside)).toEqual({ kept: 'x' });
    expect(lstatSync(outside).isDirectory()).toBe(true);
  });

  it('does not move a link into the package', async () => {
    const { folder, writeFolder } = decided();
    rmSync(path.join(writeFolder, 'new.0'));
    symlinkSync('/etc/hostname', path.join(writeFolder, 'new.0'));
    await expect(recoverPackage(folder)).rejects.toThrow('new.0 is not a file');
    expect(readFileSync(path.join(folder, 'a.yaml'), 'utf8')).toBe('old a');
  });

  it('does nothing that the folder of a write says which came with the package', async () => {
    const { folder } = decided();
    const clone = path.join(packageFolder({}), 'clone');
    cpSync(folder, clone, { recursive: true });
    const before = folderContent(clone);
    await expect(recoverPackage(clone)).rejects.toMatchObject({
      code: 'conflict',
      message: 'cannot use the package: it contains .krmhub-fn, and no write of this package left it there',
    });
    expect(folderContent(clone)).toEqual(before);
  });

  it('does not use a linked folder of a write', async () => {
    const { folder, writeFolder } = decided();
    const other = packageFolder(BEFORE);
    symlinkSync(writeFolder, writeFolderOf(other));
    await expect(recoverPackage(other)).rejects.toMatchObject({ code: 'conflict' });
    expect(readFileSync(path.join(other, 'a.yaml'), 'utf8')).toBe('old a');
    expect(readFileSync(path.join(folder, 'a.yaml'), 'utf8')).toBe('old a');
  });

  it('waits for a process that still writes, and names it', async () => {
    const { folder, writeFolder } = decided();
    writeOwner(writeFolder, { id: process.pid, start: 0 });
    await expect(recoverPackage(folder, { waitMilliseconds: 50 })).rejects.toThrow(
      `process ${process.pid} is still writing it`,
    );
    const waiting = recoverPackage(folder);
    rmSync(writeFolder, { recursive: true });
    await waiting;
  });

  it('removes what was locked and not decided', async () => {
    const { folder, writeFolder } = decided();
    rmSync(path.join(writeFolder, JOURNAL));
    await recoverPackage(folder);
    expect(folderContent(folder)).toEqual(BEFORE);
  });
});
