import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { configurationFolder } from '../files/configuration-folder.js';
import type { Clock, Environment } from '../ports.js';

/**
 * The highest snapshot of a catalog that was verified on this machine. A registry that serves an older one is refused.
 */
export interface SeenSnapshot {
  serial: number;
  /** Of snapshot.json. */
  digest: string;
  /** RFC 3339. */
  at: string;
}

/** By signing key and catalog name, since a URL has many spellings. Earlier versions: by URL. */
export type SeenCatalogs = Readonly<Record<string, SeenSnapshot>>;

interface SeenFile {
  version: 1;
  catalogs: SeenCatalogs;
}

export function seenCatalogsFile(io: Environment): string {
  return path.join(configurationFolder(io), 'seen-catalogs.json');
}

export function seenKey(fingerprint: string, catalog: string): string {
  return `${fingerprint} ${catalog}`;
}

/**
 * Returns the verified snapshots. Rejects with `unavailable` if the file cannot be read, to keep rollback protection.
 */
export async function seenCatalogs(io: Environment): Promise<SeenCatalogs> {
  return (await readSeen(io)).catalogs;
}

/** Stores a snapshot under its `seenKey`, unless a higher one is stored. */
export async function rememberSnapshot(
  io: Clock & Environment,
  key: string,
  snapshot: Omit<SeenSnapshot, 'at'>,
): Promise<void> {
  const { catalogs } = await readSeen(io);
  if (isKnown(catalogs, key, snapshot)) return;
  const { withLock } = await import('../files/with-lock.js');
  const { makeFolder } = await import('@krmhub/sources/make-folder');
  await makeFolder(configurationFolder(io), 0o700);
  // Concurrent verifications must not overwrite each other.
  await withLock(seenCatalogsFile(io), () => remember(io, key, snapshot));
}

async function remember(
  io: Clock & Environment,
  key: string,
  snapshot: Omit<SeenSnapshot, 'at'>,
): Promise<void> {
  const { catalogs } = await readSeen(io);
  if (isKnown(catalogs, key, snapshot)) return;
  const { serial, digest } = snapshot;
  const seen: SeenFile = {
    version: 1,
    catalogs: { ...catalogs, [key]: { serial, digest, at: io.now().toISOString() } },
  };
  const { writeFileAtomically } = await import('../files/write-file.js');
  await writeFileAtomically(seenCatalogsFile(io), `${JSON.stringify(seen, undefined, 2)}\n`, {
    overwrite: true,
    mode: 0o600,
    folderMode: 0o700,
  });
}

function isKnown(catalogs: SeenCatalogs, key: string, { serial }: Pick<SeenSnapshot, 'serial'>): boolean {
  return Object.hasOwn(catalogs, key) && catalogs[key]!.serial >= serial;
}

async function readSeen(io: Environment): Promise<SeenFile> {
  const file = seenCatalogsFile(io);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return { version: 1, catalogs: {} };
    }
    const { diskError } = await import('../files/read-file.js');
    throw diskError(error, `cannot read ${file}`);
  }
  const value = parseSeen(text);
  if (value !== undefined) return value;
  throw new KrmhubError('unavailable', `${file} is not valid`, {
    hint: `Fix the file. If you remove it (rm ${file}), the next verification of each catalog has no rollback protection.`,
  });
}

function parseSeen(text: string): SeenFile | undefined {
  try {
    const value = JSON.parse(text) as Partial<SeenFile> | null;
    if (value?.version !== 1 || typeof value.catalogs !== 'object' || value.catalogs === null)
      return undefined;
    const isValid = Object.values(value.catalogs).every(
      (seen: unknown) =>
        typeof seen === 'object' &&
        seen !== null &&
        'serial' in seen &&
        Number.isSafeInteger(seen.serial) &&
        'digest' in seen &&
        typeof seen.digest === 'string',
    );
    return isValid ? (value as SeenFile) : undefined;
  } catch {
    return undefined;
  }
}
