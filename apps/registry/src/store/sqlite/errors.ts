import { KrmhubError } from '@krmhub/schema';

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|CANTOPEN|IOERR|READONLY)/;

/** SQLite's result codes (https://sqlite.org/rescode.html) as the contract names them; anything else as it is. */
export function translateSqliteError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  if (code.startsWith('SQLITE_FULL')) {
    return new KrmhubError('storage-full', 'cannot write to the database: disk full', {
      hint: 'Free some space. Nothing of this request was stored.',
      cause: error,
    });
  }
  if (UNAVAILABLE.test(code)) {
    return new KrmhubError('unavailable', `the database is unavailable: ${code}`, {
      hint: 'Try again. If the error persists, check whether another process locks the database or its disk fails.',
      cause: error,
    });
  }
  return error;
}

/** Another connection holds the lock that is needed. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error)?.startsWith('SQLITE_BUSY') ?? false;
}

/** Runs synchronous database work and rejects with the contract's errors. */
export async function attempt<Result>(work: () => Result): Promise<Result> {
  try {
    return work();
  } catch (error) {
    throw translateSqliteError(error);
  }
}

/** Drizzle wraps what a driver throws. */
function sqliteCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('SQLITE_')) return code;
  }
  return undefined;
}
