import { readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema/error';
import { isRunning, ownProcess, type ProcessIdentity } from '../process/process-identity.js';
import { applyJournal } from './complete-write.js';
import { errorCode, fileError } from './file-error.js';
import { privateFolderOf, processOf, readJournal, readOwner, writeFolderOf } from './journal.js';
import { isWriteFolder, WRITE_FOLDER } from './package-file.js';

export interface RecoverOptions {
  /** A folder of this process that is not removed. */
  keeps?: string;
  /** How long to wait for another process that writes. */
  waitMilliseconds?: number;
}

/** Longer than the largest write takes. */
const WAIT_MILLISECONDS = 60_000;
const POLL_MILLISECONDS = 20;

/**
 * Completes the write of a process that was killed, or removes what it had prepared; waits for one that still runs. What is
 * in the folder afterwards is whole. Throws `conflict` if it still runs after the wait, or if a file was edited since.
 */
export async function recoverPackage(folder: string, options: RecoverOptions = {}): Promise<void> {
  const { keeps, waitMilliseconds = WAIT_MILLISECONDS } = options;
  const deadline = performance.now() + waitMilliseconds;
  for (;;) {
    const names = readdirSync(folder).filter(isWriteFolder);
    removeAbandoned(folder, names, keeps);
    if (!names.includes(WRITE_FOLDER)) return;
    const owner = readOwner(writeFolderOf(folder));
    if (owner === undefined) continue;
    if (!isRunning(owner)) {
      completeAbandoned(folder, owner);
      return;
    }
    if (performance.now() > deadline) {
      throw new KrmhubError(
        'conflict',
        `cannot use the package ${folder}: process ${owner.id} is still writing it`,
        { hint: 'Wait until it ends, or end it.' },
      );
    }
    await sleep(POLL_MILLISECONDS);
  }
}

/** Marks a write as done, then removes its files. */
export function finishWrite(folder: string, owner: ProcessIdentity): void {
  const done = privateFolderOf(folder, owner);
  try {
    renameSync(writeFolderOf(folder), done);
  } catch (error) {
    // Another process has found it.
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  const moved = readOwner(done);
  // The write had ended, and this is the next one.
  const isOther = moved !== undefined && (moved.id !== owner.id || moved.start !== owner.start);
  if (isOther) renameSync(done, writeFolderOf(folder));
  else rmSync(done, { recursive: true, force: true });
}

function completeAbandoned(folder: string, owner: ProcessIdentity): void {
  const writeFolder = writeFolderOf(folder);
  try {
    const journal = readJournal(writeFolder);
    if (journal !== undefined) applyJournal(folder, writeFolder, journal);
    finishWrite(folder, owner);
  } catch (error) {
    throw fileError(`cannot complete the interrupted write of ${folder}`, error);
  }
}

function removeAbandoned(folder: string, names: readonly string[], keeps: string | undefined): void {
  const own = ownProcess();
  for (const name of names) {
    if (name === WRITE_FOLDER) continue;
    const place = path.join(folder, name);
    const writer = processOf(name);
    if (place === keeps || isSame(writer, own) || isRunning(writer)) continue;
    // `finishWrite` may have taken the folder of a write that just began, and gives it back.
    const owner = ownerOf(place);
    if (owner !== undefined && isRunning(owner)) continue;
    rmSync(place, { recursive: true, force: true });
  }
}

/** As `readOwner`, but undefined for a folder that has no owner any more, or came with the package. */
function ownerOf(writeFolder: string): ProcessIdentity | undefined {
  try {
    return readOwner(writeFolder);
  } catch {
    return undefined;
  }
}

function isSame(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return one.id === other.id && one.start === other.start;
}
