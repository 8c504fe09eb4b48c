/**
 * Reads, writes, and locks files, and turns errors of the disk into messages.
 *
 * @module
 */

import type { Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { DISK_REASONS, diskErrorCode } from '@krmhub/schema/disk-error';
import { KrmhubError } from '@krmhub/schema/error';
import { hideInValue } from '@krmhub/schema/hide-passwords';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { WorkingFolder } from '../ports.js';

/** Reads a file, up to one byte over the limit, so that the caller can detect a file that is too large. */
export async function readFileUpTo(
  io: WorkingFolder,
  name: string,
  maxBytes: number = DOCUMENT_LIMITS.maxSourceBytes,
): Promise<Uint8Array> {
  try {
    const file = await open(path.resolve(io.cwd, name), 'r');
    try {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of file.createReadStream({ end: maxBytes, autoClose: false })) {
        chunks.push(chunk);
        size += chunk.length;
      }
      return Buffer.concat(chunks, size);
    } finally {
      await file.close();
    }
  } catch (error) {
    // It can be a URL, which is not a file.
    throw diskError(error, `cannot read ${hideInValue(name)}`);
  }
}

/** Lists a folder in the order of the names. */
export async function readFolder(io: WorkingFolder, name: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(path.resolve(io.cwd, name), { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw diskError(error, `cannot read ${name}`);
  }
}

const REASONS: Partial<Record<string, string>> = { ...DISK_REASONS, EMFILE: 'too many files are open' };

/** Turns a failed file operation into an error with a message; returns other errors unchanged. */
export function diskError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  const reason = REASONS[error.code] ?? error.code;
  return new KrmhubError(diskErrorCode(error.code), `${what}: ${reason}`, { cause: error });
}
