import { DISK_REASONS, diskErrorCode } from '@krmhub/schema/disk-error';
import { KrmhubError } from '@krmhub/schema/error';

const REASONS: Partial<Record<string, string>> = {
  ...DISK_REASONS,
  ELOOP: 'it is a symbolic link',
  ENAMETOOLONG: 'a name is too long',
  EXDEV: 'it is on another disk than its package',
};

/** Turns a failed file operation into an error for the user. Other errors are returned as they are. */
export function fileError(what: string, error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof KrmhubError || code === undefined) return error;
  return new KrmhubError(diskErrorCode(code), `${what}: ${REASONS[code] ?? code}`, { cause: error });
}

/** Runs file operations. Throws their errors as those for the user. */
export function attempt<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw fileError(what, error);
  }
}

/** Returns the code of an error of the file system. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}
