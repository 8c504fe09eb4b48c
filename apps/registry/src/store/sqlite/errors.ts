import { KrmhubError } from '@krmhub/schema';
import { isDiskFull } from '@krmhub/schema/disk-error';
import { MOVED, movedError } from '../copy/move-mark.js';

/** A retry does not help. SQLite pads a short read of the database, so it tells of the write-ahead log. */
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/;
const CORRUPT = 'the database is corrupt';
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|CANTOPEN|IOERR|READONLY)/;

/** Translates SQLite result codes (https://sqlite.org/rescode.html) to KrmhubError; returns other errors unchanged. */
export function translateSqliteError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  if (code === 'SQLITE_CONSTRAINT_TRIGGER' && (error as Error).message === MOVED) return movedError(error);
  if (code.startsWith('SQLITE_FULL')) {
    return new KrmhubError('storage-full', 'cannot write to the database: disk full', {
      hint: 'Free some disk space. The registry stored nothing of this request.',
      cause: error,
    });
  }
  if (DAMAGED.test(code)) {
    return new KrmhubError('unavailable', `${CORRUPT}: ${describeDamage(code)} (${code})`, {
      hint: 'Stop the registry, run `krmhub fsck`, then restore the registry from a backup.',
      cause: error,
    });
  }
  if (UNAVAILABLE.test(code)) {
    return new KrmhubError('unavailable', `the database is unavailable: ${code}`, {
      hint: 'Try again. If the error persists, check whether another process locks the database and whether its disk works.',
      cause: error,
    });
  }
  return error;
}

/** Translates an error of the operating system to KrmhubError, if the log of the database cannot be synced. */
export function translateSyncError(error: unknown): KrmhubError {
  const { code } = error as NodeJS.ErrnoException;
  if (isDiskFull(code)) {
    return new KrmhubError('storage-full', 'cannot write to the database: disk full', {
      hint: 'Free some disk space, then try again.',
      cause: error,
    });
  }
  return new KrmhubError('unavailable', `cannot sync the database: ${code}`, {
    hint: 'Try again. If the error persists, check whether the disk works.',
    cause: error,
  });
}

/** Reports whether SQLite says that the content of the files is wrong. */
export function isDamaged(error: unknown): boolean {
  return DAMAGED.test(sqliteCode(error) ?? '');
}

/** Reports the same of an error that may come from another thread, which has no cause then. */
export function isDamageReport(error: unknown): boolean {
  return isDamaged(error) || (error instanceof KrmhubError && error.message.startsWith(`${CORRUPT}: `));
}

function describeDamage(code: string): string {
  if (code.startsWith('SQLITE_NOTADB')) return 'the file is not a database';
  if (code.startsWith('SQLITE_IOERR')) return 'the file or its write-ahead log (-wal) is truncated';
  return 'its pages are inconsistent';
}

/** Reports whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error)?.startsWith('SQLITE_BUSY') ?? false;
}

/** Runs synchronous database work and translates its errors. */
export async function attempt<Result>(work: () => Result): Promise<Result> {
  try {
    return work();
  } catch (error) {
    throw translateSqliteError(error);
  }
}

/** Returns the SQLite code of an error, also if drizzle wrapped it. */
function sqliteCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('SQLITE_')) return code;
  }
  return undefined;
}
