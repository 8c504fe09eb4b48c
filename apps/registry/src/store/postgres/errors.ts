import { KrmhubError } from '@krmhub/schema';
import { MOVED_STATE, movedError } from '../copy/move-mark.js';
import { StoreAway } from '../store-away.js';

/** What an operator can do about a condition of the server, by SQLSTATE (PostgreSQL, appendix A). */
const CONDITIONS: readonly (readonly [code: RegExp, problem: string, hint: string])[] = [
  [
    /^28/,
    'the database server refused the user',
    'Check the user and the password in KRMHUB_DATABASE_URL, PGPASSWORD, or the password file.',
  ],
  [/^3D000$/, 'the database does not exist', 'Create it with createdb, with the encoding UTF8.'],
  [/^42501$/, 'the user may not do this in the database', 'Make the user the owner of the database.'],
  [/^25006$/, 'the database is read-only', 'Connect to the primary server.'],
  [
    /^53300$/,
    'the database server has no free connection',
    'Raise max_connections of the server, or stop other clients.',
  ],
  [
    /^(?:55P03|57014)$/,
    'the database did not answer in time',
    'Try again. If the error persists, look for a long transaction in pg_stat_activity.',
  ],
  [/^57P/, 'the database server is stopping or starting', 'Try again when the server runs.'],
];
const AGAIN = 'Try again. If the error persists, check the database server and its log.';
/** Connection, transaction rollback, resources, operator, system, and internal errors. */
const UNAVAILABLE = /^(?:08|25P0|40|53|55|57|58|F0|XX)/;

/** Of these, conditions that pass without a change of the configuration: connections, resources, a server that starts. */
const PASSING = /^(?:08|53300|55P03|57P|58)/;

/**
 * Translates an error of the driver to KrmhubError, if the caller of the store cannot solve it: `storage-full`,
 * `unavailable`, or `invalid-request` for text that PostgreSQL cannot store. Returns others unchanged, such as a
 * duplicate key. The driver's messages never have the password.
 */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof KrmhubError) return error;
  const code = sqlState(error);
  if (code === undefined) {
    const message = `cannot reach the database server: ${errorReason(error)}`;
    const options = {
      hint: 'Check KRMHUB_DATABASE_URL, and whether the server runs and accepts connections.',
      cause: error,
    };
    return isUnreachable(error)
      ? new StoreAway('store', message, options)
      : new KrmhubError('unavailable', message, options);
  }
  if (code === 'KR001') {
    return new KrmhubError('unavailable', 'the other processes of the registry removed this one', {
      hint: 'Nothing was stored. Try again in a few seconds.',
      cause: error,
    });
  }
  if (code === MOVED_STATE) return movedError(error);
  if (code === '53100') {
    return new KrmhubError('storage-full', 'cannot write to the database: its disk is full', {
      hint: 'Free some space on the disk of the database server. The registry stored nothing of this request.',
      cause: error,
    });
  }
  if (code === '22021' || code === '22P05') {
    return new KrmhubError('invalid-request', 'cannot store text with the character U+0000', {
      hint: 'Remove the character U+0000: PostgreSQL has no text with it.',
      cause: error,
    });
  }
  if (code === '22P02' && /surrogate/.test((error as { detail?: string }).detail ?? '')) {
    return new KrmhubError('invalid-request', 'cannot store text with an unpaired surrogate', {
      hint: 'Remove the character: it is half of one, and PostgreSQL has no text with it.',
      cause: error,
    });
  }
  const condition = CONDITIONS.find(([pattern]) => pattern.test(code));
  if (condition === undefined && !UNAVAILABLE.test(code)) return error;
  const [, problem, hint] = condition ?? [code, 'the database is unavailable', AGAIN];
  const message = `${problem}: ${errorReason(error)} (${code})`;
  return PASSING.test(code)
    ? new StoreAway('store', message, { hint, cause: error })
    : new KrmhubError('unavailable', message, { hint, cause: error });
}

/** Reports whether a transaction that the server rolled back can succeed if it runs again. */
export function isRetryable(error: unknown): boolean {
  const cause = error instanceof KrmhubError ? error.cause : error;
  const code = cause === undefined ? undefined : sqlState(cause);
  return code === '40001' || code === '40P01';
}

/** Reports whether an error ended the connection, so that other statements on it fail as well. */
export function endsConnection(error: unknown): boolean {
  const code = sqlState(error);
  if (code === undefined) return true;
  const { severity } = error as { severity?: string };
  return severity === 'FATAL' || severity === 'PANIC' || code.startsWith('57P');
}

/** SQLSTATE has five characters; errors of Node.js and of TLS have longer codes. */
function sqlState(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && code.length === 5 && severity !== undefined ? code : undefined;
}

/** Errors of the network and timeouts; not those of certificates and passwords, which need another configuration. */
function isUnreachable(error: unknown): boolean {
  const { message, code } = error as NodeJS.ErrnoException;
  return /^E(?:AI_)?[A-Z]+$/.test(code ?? '') || /timeout|terminated/i.test(message);
}

function errorReason(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no reason given';
}
