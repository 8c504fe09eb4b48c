import { open, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema/error';
import { visible } from '../io/text.js';
import { diskError } from './read-file.js';

/** Writers hold the lock for milliseconds. */
const LOCK_ATTEMPTS = 200;
const LOCK_WAIT_MILLISECONDS = 50;

/** Does work while no other krmhub that asks for the same lock does, beside a file whose folder is there. */
export async function withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const lock = `${file}.lock`;
  await takeLock(lock);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true }).catch(() => undefined);
  }
}

/** A lock that is left over is not taken by force: two who find it at once would both believe to have it. */
async function takeLock(lock: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      return;
    } catch (error) {
      const held = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      if (!held) throw diskError(error, visible(`cannot write ${lock}`));
      if (attempt === LOCK_ATTEMPTS) {
        throw new KrmhubError(
          'unavailable',
          visible(`another krmhub is changing the file: ${lock} is there`),
          {
            hint: 'Remove the lock where no other krmhub runs.',
            cause: error,
          },
        );
      }
    }
    await sleep(LOCK_WAIT_MILLISECONDS);
  }
}
