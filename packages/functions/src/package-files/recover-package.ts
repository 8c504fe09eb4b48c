import { readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema/error';
import { isRunning, ownProcess } from '../process/process-identity.js';
import { isWriteFolder, WRITE_FOLDER } from '../resource-list/reserved-files.js';
import { applyJournal, undoJournal } from './complete-write.js';
import { attempt, fileError } from './file-error.js';
import { readDecision } from './journal.js';
import {
  finishWrite,
  giveUp,
  isActive,
  parseProcess,
  readOwner,
  removeFolder,
  takeOver,
  type WriteOwner,
  writeFolderPath,
} from './write-owner.js';

export interface RecoverOptions {
  /** How long to wait for another process that writes. */
  waitMilliseconds?: number;
}

/** Longer than the largest write takes. */
const WAIT_MILLISECONDS = 60_000;
const POLL_MILLISECONDS = 20;

/** What was done with a write that had been decided. */
export type Recovery = 'completed' | 'undone';

/**
 * Completes the write of a process that was killed, or removes what it had prepared; waits for one that still runs.
 * What is in the folder afterwards is whole. Returns how files were changed, if they were. Throws `conflict` if it still runs after the wait, or if a file was edited
 * since.
 */
export async function recoverPackage(
  folder: string,
  { waitMilliseconds = WAIT_MILLISECONDS }: RecoverOptions = {},
): Promise<Recovery | undefined> {
  let recovery: Recovery | undefined;
  const deadline = performance.now() + waitMilliseconds;
  const writeFolder = writeFolderPath(folder);
  for (;;) {
    const names = attempt(`cannot read ${folder}`, () => readdirSync(folder)).filter(isWriteFolder);
    removeAbandoned(folder, names);
    if (!names.includes(WRITE_FOLDER)) return recovery;
    const owner = readOwner(writeFolder);
    if (owner === undefined) continue;
    if (!isActive(owner)) {
      recovery = complete(folder, writeFolder, owner) ?? recovery;
    } else if (performance.now() > deadline) {
      throw new KrmhubError(
        'conflict',
        `cannot use the package ${folder}: process ${owner.holder?.id} is still writing it`,
        { hint: 'Wait until it ends, or end it.' },
      );
    } else {
      await sleep(POLL_MILLISECONDS);
    }
  }
}

/** Does what an ended process left undone, unless another process does. */
function complete(folder: string, writeFolder: string, abandoned: WriteOwner): Recovery | undefined {
  let isOwn = false;
  try {
    isOwn = takeOver(writeFolder, abandoned);
    if (!isOwn) return undefined;
    const decision = readDecision(writeFolder);
    if (decision !== undefined) {
      const settle = decision.isUndone ? undoJournal : applyJournal;
      settle(folder, writeFolder, decision.journal);
    }
    finishWrite(folder);
    if (decision === undefined) return undefined;
    return decision.isUndone ? 'undone' : 'completed';
  } catch (error) {
    if (isOwn) giveUp(writeFolder);
    throw fileError(`cannot complete the interrupted write of ${folder}`, error);
  }
}

/** Removes the folders of processes that have ended. */
function removeAbandoned(folder: string, names: readonly string[]): void {
  const own = ownProcess();
  for (const name of names) {
    if (name === WRITE_FOLDER) continue;
    const writer = parseProcess(name);
    const isOwn = writer.id === own.id && writer.start === own.start;
    if (!isOwn && !isRunning(writer)) removeFolder(path.join(folder, name));
  }
}
