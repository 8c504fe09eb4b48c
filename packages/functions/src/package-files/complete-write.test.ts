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
import { applyJournal, undoJournal, versionText } from './complete-write.js';
import { decideUndo, JOURNAL, type Journal } from './journal.js';
import { recoverPackage } from './recover-package.js';
import { OWNER_FOLDER, readOwner, takeOver, writeFolderPath } from './write-owner.js';

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
  const writeFolder = writeFolderPath(folder);
  mkdirSync(writeFolder);
  writeOwner(writeFolder, '4194305.1');
  for (const [name, text] of Object.entries({ 'new.0': 'new a', 'new.1': 'new d', 'new.3': 'new b' })) {
    writeFileSync(path.join(writeFolder, name), text);
  }
  for (const [name, file] of Object.entries({ 'old.0': 'a.yaml', 'old.2': 'c.yaml', 'old.3': 'b.yaml' })) {
    linkSync(path.join(folder, file), path.join(writeFolder, name));
  }
  const changes = journal.changes.map((change) => ({
    ...change,
    ...(change.new === undefined || change.isCreated
      ? {}
      : { inode: readInode(path.join(writeFolder, change.new)) }),
    ...(change.old === undefined ? {} : { version: versionText(path.join(writeFolder, change.old)) }),
  }));
  const complete = { ...journal, changes };
  writeFileSync(path.join(writeFolder, JOURNAL), JSON.stringify(complete));
  return { folder, writeFolder, journal: complete };
}

function writeOwner(writeFolder: string, process: string): void {
  const owners = path.join(writeFolder, OWNER_FOLDER);
  rmSync(owners, { recursive: true, force: true });
  mkdirSync(owners);
  writeFileSync(path.join(owners, `1.1.1.${process}`), readInode(writeFolder));
}

const readInode = (place: string) => String(lstatSync(place, { bigint: true }).ino);

/** What is done of a journal after so many of its changes. */
const first = ({ folders, changes }: Journal, count: number): Journal => ({
  folders,
  changes: changes.slice(0, count),
});

describe.each([0, 1, 2, 3, 4])('a write that was killed after %d changes', (count) => {
  it('is completed', async () => {
    const { folder, writeFolder, journal } = decided();
    applyJournal(folder, writeFolder, first(journal, count));
    expect(await recoverPackage(folder)).toBe('completed');
    expect(folderContent(folder)).toEqual(AFTER);
    expect(await recoverPackage(folder)).toBeUndefined();
    expect(folderContent(folder)).toEqual(AFTER);
  });

  it.each([0, 1, 2, 3, 4])('is undone, also if that is killed after %d of them', async (undone) => {
    const { folder, writeFolder, journal } = decided();
    applyJournal(folder, writeFolder, first(journal, count));
    decideUndo(writeFolder);
    const last = { folders: [], changes: journal.changes.slice(journal.changes.length - undone) };
    undoJournal(folder, writeFolder, last);
    expect(await recoverPackage(folder)).toBe('undone');
    expect(folderContent(folder)).toEqual(BEFORE);
  });

  it('is undone on a disk without links', async () => {
    const { folder, writeFolder, journal } = decided();
    for (const { path: at, old } of journal.changes) {
      if (old === undefined) continue;
      rmSync(path.join(writeFolder, old));
      writeFileSync(path.join(writeFolder, old), BEFORE[at as keyof typeof BEFORE]);
    }
    const copied = {
      ...journal,
      changes: journal.changes.map(({ version: _, ...change }) => change),
    };
    applyJournal(folder, writeFolder, first(copied, count));
    undoJournal(folder, writeFolder, copied);
    rmSync(writeFolder, { recursive: true });
    expect(folderContent(folder)).toEqual(BEFORE);
  });
});

describe('takeOver', () => {
  it('succeeds once, and not for a later write', () => {
    const { writeFolder } = decided();
    const abandoned = readOwner(writeFolder)!;
    expect(takeOver(writeFolder, abandoned)).toBe(true);
    expect(readOwner(writeFolder)).toMatchObject({ write: '1.1.1', holder: { id: process.pid } });
    expect(takeOver(writeFolder, abandoned)).toBe(false);
    writeOwner(writeFolder, '4194305.2');
    expect(takeOver(writeFolder, abandoned)).toBe(false);
  });
});

describe('recoverPackage', () => {
  it('does not overwrite what the user wrote after the kill', async () => {
    const { folder, writeFolder, journal } = decided();
    applyJournal(folder, writeFolder, first(journal, 1));
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
    const { folder, writeFolder } = decided({ folders: [], changes: [change] });
    writeOwner(writeFolder, 'ended');
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
    expect(() => undoJournal(folder, writeFolder, journal)).toThrow('link is not a folder');
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
    symlinkSync(writeFolder, writeFolderPath(other));
    await expect(recoverPackage(other)).rejects.toMatchObject({ code: 'conflict' });
    expect(readFileSync(path.join(other, 'a.yaml'), 'utf8')).toBe('old a');
    expect(readFileSync(path.join(folder, 'a.yaml'), 'utf8')).toBe('old a');
  });

  it('waits for a process that still writes, and names it', async () => {
    const { folder, writeFolder } = decided();
    writeOwner(writeFolder, `${process.pid}.0`);
    await expect(recoverPackage(folder, { waitMilliseconds: 50 })).rejects.toThrow(
      `process ${process.pid} is still writing it`,
    );
    const waiting = recoverPackage(folder);
    rmSync(writeFolder, { recursive: true });
    await waiting;
  });

  it('does not overwrite what the user wrote into a file after the kill', async () => {
    const { folder, writeFolder } = decided();
    writeFileSync(path.join(folder, 'b.yaml'), 'new length');
    await expect(recoverPackage(folder)).rejects.toThrow('b.yaml: it was changed');
    expect(readFileSync(path.join(folder, 'b.yaml'), 'utf8')).toBe('new length');
    // Another process, or a later call, may try again.
    expect(readOwner(writeFolder)).toEqual({ write: '1.1.1' });
    await expect(recoverPackage(folder)).rejects.toThrow('b.yaml: it was changed');
  });

  it('removes what was locked and not decided', async () => {
    const { folder, writeFolder } = decided();
    rmSync(path.join(writeFolder, JOURNAL));
    await recoverPackage(folder);
    expect(folderContent(folder)).toEqual(BEFORE);
  });
});
