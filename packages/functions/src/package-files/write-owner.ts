import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { isRunning, ownProcess, type ProcessIdentity } from '../process/process-identity.js';
import { WRITE_FOLDER } from '../resource-list/reserved-files.js';
import { errorCode } from './file-error.js';

/**
 * The process that acts on a write, in the name of the only file of the folder `owner`: `WRITE.PROCESS`, or
 * `WRITE.ended` if none does. The file contains the inode of the folder of the write. A folder that came with a
 * package, by git or in an archive, has another one: what it says must not be done.
 */
export interface WriteOwner {
  /** Another one for each write. */
  write: string;
  /** Absent if none acts on it. */
  holder?: ProcessIdentity;
}

/** In the folder of a write. */
export const OWNER_FOLDER = 'owner';
/** Each fails only if an owner changes in the meantime. */
const READ_ATTEMPTS = 50;
const MAX_INODE_BYTES = 100;

/** Folders of this process have different names. */
let count = Date.now();

export function writeFolderPath(folder: string): string {
  return path.join(folder, WRITE_FOLDER);
}

/** A new name for the folder of a write that is prepared, or of which the files only have to be removed. */
export function privateWriteFolder(folder: string, { id, start }: ProcessIdentity = ownProcess()): string {
  return path.join(folder, `${WRITE_FOLDER}.${id}.${start}.${count++}`);
}

/** The process in the name of such a folder. */
export function parseProcess(name: string): ProcessIdentity {
  const [id, start] = name.slice(WRITE_FOLDER.length + 1).split('.');
  return { id: Number(id), start: Number(start) };
}

/**
 * Makes the folder of a write that this process will act on. Returns paths that have to be on the disk before it does.
 */
export function makePrivateFolder(place: string): string[] {
  mkdirSync(place, { mode: 0o700 });
  const owners = path.join(place, OWNER_FOLDER);
  mkdirSync(owners);
  const write = path.basename(place).slice(WRITE_FOLDER.length + 1);
  const file = path.join(owners, folderName({ write, holder: ownProcess() }));
  writeFileSync(file, String(lstatSync(place, { bigint: true }).ino));
  return [file, owners];
}

/** Returns who acts on a write; undefined if there is no such folder. Throws `conflict` for one that was copied. */
export function readOwner(writeFolder: string): WriteOwner | undefined {
  for (let attempt = 1; ; attempt++) {
    const stat = lstatSync(writeFolder, { throwIfNoEntry: false, bigint: true });
    if (stat === undefined) return undefined;
    const owner = stat.isDirectory() ? ownerIn(path.join(writeFolder, OWNER_FOLDER), stat.ino) : undefined;
    if (owner !== undefined) return owner;
    // Between two calls, the write may have ended, and another one begun.
    if (attempt === READ_ATTEMPTS) throw damagedFolder('no write of this package left it there');
  }
}

function ownerIn(owners: string, inode: bigint): WriteOwner | undefined {
  try {
    if (!lstatSync(owners).isDirectory()) return undefined;
    const [name = ''] = readdirSync(owners);
    const file = path.join(owners, name);
    const stat = lstatSync(file);
    if (!stat.isFile() || stat.size > MAX_INODE_BYTES) return undefined;
    return readFileSync(file, 'utf8') === String(inode) ? parseName(name) : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

function folderName({ write, holder }: WriteOwner): string {
  return `${write}.${holder === undefined ? 'ended' : `${holder.id}.${holder.start}`}`;
}

function parseName(name: string): WriteOwner | undefined {
  const [, write, id, start] = /^(\d+\.\d+\.\d+)\.(?:(\d+)\.(\d+)|ended)$/.exec(name) ?? [];
  if (write === undefined) return undefined;
  return id === undefined ? { write } : { write, holder: { id: Number(id), start: Number(start) } };
}

/** Reports whether a process acts on a write. */
export function isActive({ holder }: WriteOwner): boolean {
  return holder !== undefined && isRunning(holder);
}

/** From now on, this process acts on a write. Returns false if another one does, or if the write has ended. */
export function takeOver(writeFolder: string, owner: WriteOwner): boolean {
  return rename(writeFolder, owner, { write: owner.write, holder: ownProcess() });
}

/** From now on, this process does not act on a write any more, and another one may. */
export function giveUp(writeFolder: string): void {
  try {
    const own = readOwner(writeFolder);
    if (own !== undefined) rename(writeFolder, own, { write: own.write });
  } catch {
    // Another process may when this one has ended.
  }
}

function rename(writeFolder: string, from: WriteOwner, to: WriteOwner): boolean {
  const owners = path.join(writeFolder, OWNER_FOLDER);
  try {
    renameSync(path.join(owners, folderName(from)), path.join(owners, folderName(to)));
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Marks a write on which this process acts as done, and removes its files. */
export function finishWrite(folder: string): void {
  const done = privateWriteFolder(folder);
  try {
    renameSync(writeFolderPath(folder), done);
  } catch (error) {
    // The user has removed it.
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  removeFolder(done);
}

/** Removes a folder. What cannot be removed stays: no package contains it, and the next command tries again. */
export function removeFolder(place: string): void {
  try {
    rmSync(place, { recursive: true, force: true });
  } catch {
    // Another process may be removing it, or it belongs to another user.
  }
}

/** An error for the folder of a write that cannot be used. */
export function damagedFolder(reason: string): KrmhubError {
  return new KrmhubError('conflict', `cannot use the package: it contains ${WRITE_FOLDER}, and ${reason}`, {
    hint: `Check the files of the package, and remove ${WRITE_FOLDER} from it.`,
  });
}
