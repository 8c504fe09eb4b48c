import path from 'node:path';
import type { AuditHead } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import type { CheckResult } from '../check/check.js';
import { readFileBytes } from './files.js';

/** `backup.json`. It is written last, so a folder with it contains a complete backup. */
export interface Manifest {
  format: 1;
  /** UTC. */
  madeAt: string;
  /** Digest of registry.db. */
  database: Digest;
  counts: CheckResult['counts'];
  /** The newest row of the audit log; absent without rows, and in backups of older versions. */
  audit?: AuditHead;
}

export function manifestFile(folder: string): string {
  return path.join(folder, 'backup.json');
}

/** Rejects with `usage` if the folder contains no backup, and with `unavailable` if a newer program wrote it. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFileBytes(manifestFile(folder));
  const hint = 'Use a folder from `krmhub backup`.';
  if (text === undefined) {
    throw new KrmhubError('usage', `${folder} is not a backup: backup.json is missing`, { hint });
  }
  let manifest: Partial<Manifest> | null;
  try {
    manifest = JSON.parse(Buffer.from(text).toString('utf8'));
  } catch (cause) {
    throw new KrmhubError('usage', `${folder} is not a backup: backup.json is not valid JSON`, {
      hint,
      cause,
    });
  }
  if (manifest?.format === 1 && typeof manifest.database === 'string') return manifest as Manifest;
  throw new KrmhubError('unavailable', `${folder}: unsupported backup format`, {
    hint: 'Use the version of krmhub that wrote it, or a later version.',
  });
}
