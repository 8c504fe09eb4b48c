import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  writeFileSync(path.join(writeFolder, OWNER_FILE), JSON.stringify({ id: 4_194_305, start: 1 }));
  for (const [name, text] of Object.entries({ 'new.0': 'new a', 'new.1': 'new d', 'new.3': 'new b' })) {
    writeFileSync(path.join(writeFolder, name), text);
  }
  for (const [name, file] of Object.entries({ 'old.0': 'a.yaml', 'old.2': 'c.yaml', 'old.3': 'b.yaml' })) {
    linkSync(path.join(folder, file), path.join(writeFolder, name));
  }
  writeFileSync(path.join(writeFolder, JOURNAL), JSON.stringify(journal));
  return { folder, writeFolder };
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

  it('waits for a process that still writes, and names it', async () => {
    const { folder, writeFolder } = decided();
    writeFileSync(path.join(writeFolder, OWNER_FILE), JSON.stringify({ id: process.pid, start: 0 }));
    await expect(recoverPackage(folder, { waitMilliseconds: 50 })).rejects.toThrow(
      `process ${process.pid} has been writing it`,
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
