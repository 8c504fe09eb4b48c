import { open, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { diskError } from './read-file.js';

/** Writers hold the lock for milliseconds. */
const LOCK_ATTEMPTS = 200;
const LOCK_WAIT_MILLISECONDS = 50;

/** Runs `work` while holding the lock of a file. The folder of the file must exist. */
export async function withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const lock = `${file}.lock`;
  await acquireLock(lock);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true }).catch(() => undefined);
  }
}

/** Never removes a stale lock: two processes that did so at the same time would both hold it. */
async function acquireLock(lock: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      return;
    } catch (error) {
      const held = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      if (!held) throw diskError(error, escapeControls(`cannot create ${lock}`));
      if (attempt === LOCK_ATTEMPTS) {
        throw new KrmhubError('unavailable', escapeControls(`cannot lock the file: ${lock} exists`), {
          hint: `If no other krmhub is running, remove the lock: rm ${lock}`,
          cause: error,
        });
      }
    }
    await sleep(LOCK_WAIT_MILLISECONDS);
  }
}
