import { createHash, randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

/** The files of the program in an executable. */
export interface PackedProgram {
  /** SHA-256 of all files, in hexadecimal digits: the name of their folder. */
  digest: string;
  /** By path: the size in bytes, and the SHA-256 in hexadecimal digits. */
  files: Readonly<Record<string, readonly [size: number, digest: string]>>;
  /** Returns the bytes of all files, by path. */
  unpack(): ReadonlyMap<string, Uint8Array>;
}

/**
 * Written after the other files were checked, so that one with a later change is checked again. It says which files on
 * this disk they are: those of a restored cache, also if this one is restored too, are others.
 */
const MARKER = '.unpacked';
/** Names of folders that are not complete, or are being removed. */
const TEMPORARY = '.temporary-';
const OWNER_ONLY = 0o700;
const WRITABLE_BY_GROUP_OR_OTHERS = 0o022;
const WRITABLE_BY_OTHERS = 0o002;
const STICKY = 0o1000;
export const DAY_MILLISECONDS = 86_400_000;
/** Other versions, and what a killed process left, are removed when they were not used for so long. */
const KEEP_MILLISECONDS = 30 * DAY_MILLISECONDS;
/** Other processes can replace a damaged folder at the same time. */
const TRIES = 5;

/**
 * Returns the folder of the unpacked program, in the first of the folders that this user owns and can write. Unpacks
 * it if it is missing or damaged. Throws with the reasons if there is none.
 */
export function openProgram(
  program: PackedProgram,
  folders: readonly string[],
  uid: number | undefined,
): string {
  const reasons: string[] = [];
  for (const folder of folders) {
    try {
      const programs = ownFolder(folder, uid);
      const target = path.join(programs, program.digest);
      if (!isIntact(program, target, uid)) unpackTo(program, target, uid);
      touchProgram(target);
      return target;
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  throw new Error(reasons.join('; '));
}

/** Records that a program is used: the programs that are not used are removed. */
export function touchProgram(target: string): void {
  try {
    const now = Date.now();
    if (now - statSync(target).mtimeMs > DAY_MILLISECONDS) utimesSync(target, now / 1_000, now / 1_000);
  } catch {
    // It runs all the same.
  }
}

/** Reports whether only this user could write to a folder: it is not a link, and is the user's own. */
export function isOwnFolder(folder: string, uid: number | undefined): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return false;
  return uid === undefined || (found.uid === uid && (found.mode & WRITABLE_BY_GROUP_OR_OTHERS) === 0);
}

/** Returns the folder of programs in the cache. Throws if another user could change what is in it. */
function ownFolder(cache: string, uid: number | undefined): string {
  const programs = path.join(cache, 'program');
  mkdirSync(programs, { recursive: true, mode: OWNER_ONLY });
  const found = statSync(cache);
  const isOpen = (found.mode & WRITABLE_BY_OTHERS) !== 0 && (found.mode & STICKY) === 0;
  if (uid !== undefined && ((found.uid !== uid && found.uid !== 0) || isOpen))
    throw new Error(`other users can change ${cache}`);
  if (!isOwnFolder(programs, uid)) throw new Error(`other users can change ${programs}`);
  return programs;
}

/** Reports whether all files are there with their bytes. Files that were not changed since are not read again. */
function isIntact(program: PackedProgram, target: string, uid: number | undefined): boolean {
  if (!isOwnFolder(target, uid)) return false;
  const marker = statOf(path.join(target, MARKER));
  const state = readState(program, target, uid);
  if (marker === undefined || state === undefined) return false;
  // The clock of a file system has steps of some milliseconds.
  const isKnown = marker.isFile() && marker.ctimeNs > state.changed;
  if (isKnown && readFileSync(path.join(target, MARKER), 'utf8') === state.text) return true;
  for (const [name, [, digest]] of Object.entries(program.files)) {
    if (sha256(readFileSync(path.join(target, name))) !== digest) return false;
  }
  try {
    // Not those that were read, if they changed meanwhile: their state is another one.
    writeFileSync(path.join(target, MARKER), state.text);
  } catch {
    // It runs all the same, from a disk that is read-only, and is read again the next time.
  }
  return true;
}

/** Returns which files on this disk the program is, and when one was changed last. Undefined if they are not its files. */
function readState(
  { files }: PackedProgram,
  target: string,
  uid: number | undefined,
): { text: string; changed: bigint } | undefined {
  const lines: string[] = [];
  let changed = 0n;
  for (const [name, [size]] of Object.entries(files)) {
    const found = statOf(path.join(target, name));
    const isOwn = uid === undefined || found?.uid === BigInt(uid);
    if (found?.isFile() !== true || found.size !== BigInt(size) || !isOwn) return undefined;
    if (found.ctimeNs > changed) changed = found.ctimeNs;
    lines.push(`${found.ino} ${found.ctimeNs} ${name}\n`);
  }
  return { text: sha256(Buffer.from(lines.join(''))), changed };
}

const statOf = (file: string) => lstatSync(file, { bigint: true, throwIfNoEntry: false });

/** Unpacks beside the target and renames, so that others see all of the files or none. */
function unpackTo(program: PackedProgram, target: string, uid: number | undefined): void {
  const programs = path.dirname(target);
  const temporary = mkdtempSync(path.join(programs, TEMPORARY));
  try {
    for (const [name, bytes] of program.unpack()) {
      if (sha256(bytes) !== program.files[name]?.[1]) throw new Error('the executable is damaged');
      const file = path.join(temporary, name);
      mkdirSync(path.dirname(file), { recursive: true, mode: OWNER_ONLY });
      writeFileSync(file, bytes, { mode: 0o600 });
    }
    writeFileSync(path.join(temporary, MARKER), readState(program, temporary, uid)?.text ?? '');
    for (let tries = 1; ; tries++) {
      try {
        renameSync(temporary, target);
        break;
      } catch (error) {
        // Another process may have unpacked it.
        if (isIntact(program, target, uid)) break;
        if (tries === TRIES) throw error;
        setAside(target);
      }
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  removeUnused(programs, target);
}

function setAside(target: string): void {
  const aside = path.join(path.dirname(target), `${TEMPORARY}${randomUUID()}`);
  try {
    renameSync(target, aside);
  } catch {
    // Another process did.
  }
  rmSync(aside, { recursive: true, force: true });
}

function removeUnused(programs: string, current: string): void {
  for (const name of readdirSync(programs)) {
    const folder = path.join(programs, name);
    try {
      const isUnused = Date.now() - lstatSync(folder).mtimeMs > KEEP_MILLISECONDS;
      if (folder !== current && isUnused) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another process removes it too.
    }
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
