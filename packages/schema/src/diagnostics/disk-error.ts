import type { ErrorCode } from './error.js';

/** What the operating system says about a disk, in words, by its code. */
export const DISK_REASONS = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'it already exists',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EROFS: 'the disk is read-only',
} as const;

/** Reports whether the code of an error says that the disk or its quota is full. */
export function isDiskFull(code: string | undefined): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Returns the code of the error for the user, by that of the operating system. */
export function diskErrorCode(code: string): ErrorCode {
  if (isDiskFull(code)) return 'storage-full';
  return code === 'ENOENT' ? 'not-found' : 'unavailable';
}
