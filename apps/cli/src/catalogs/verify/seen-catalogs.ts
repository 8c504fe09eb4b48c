import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../../io/io.js';
import { configurationFolder } from '../../registry/credentials.js';

/** The highest snapshot of a catalog that was ever verified here: who shows an older one holds the newest back. */
export interface SeenSnapshot {
  serial: number;
  /** Of snapshot.json. */
  digest: string;
  /** RFC 3339. */
  at: string;
}

interface SeenCatalogs {
  version: 1;
  /** By URL. */
  catalogs: Record<string, SeenSnapshot>;
}

export function seenCatalogsFile(io: Pick<Io, 'env'>): string {
  return path.join(configurationFolder(io), 'seen-catalogs.json');
}

/** Rejects with `unavailable` where the file cannot be read: what was seen must not be forgotten by an accident. */
export async function seenSnapshot(io: Pick<Io, 'env'>, url: string): Promise<SeenSnapshot | undefined> {
  const { catalogs } = await readSeen(io);
  return Object.hasOwn(catalogs, url) ? catalogs[url] : undefined;
}

/** Remembers a snapshot, unless a higher one was seen meanwhile. */
export async function rememberSnapshot(
  io: Io,
  url: string,
  snapshot: Omit<SeenSnapshot, 'at'>,
): Promise<void> {
  const { withLock } = await import('../../files/with-lock.js');
  const { makeFolder } = await import('@krmhub/sources/make-folder');
  await makeFolder(configurationFolder(io), 0o700);
  // Two verifications at once must not forget what the other one has seen.
  await withLock(seenCatalogsFile(io), () => remember(io, url, snapshot));
}

async function remember(io: Io, url: string, { serial, digest }: Omit<SeenSnapshot, 'at'>): Promise<void> {
  const { catalogs } = await readSeen(io);
  if (Object.hasOwn(catalogs, url) && catalogs[url]!.serial >= serial) return;
  const seen: SeenCatalogs = {
    version: 1,
    catalogs: { ...catalogs, [url]: { serial, digest, at: io.now().toISOString() } },
  };
  const { writeFileAtomically } = await import('../../files/write-file.js');
  await writeFileAtomically(seenCatalogsFile(io), `${JSON.stringify(seen, undefined, 2)}\n`, {
    overwrite: true,
    mode: 0o600,
    folderMode: 0o700,
  });
}

async function readSeen(io: Pick<Io, 'env'>): Promise<SeenCatalogs> {
  const file = seenCatalogsFile(io);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return { version: 1, catalogs: {} };
    }
    const { diskError } = await import('../../files/read-file.js');
    throw diskError(error, `cannot read ${file}`);
  }
  const value = parse(text);
  if (value !== undefined) return value;
  throw new KrmhubError('unavailable', `${file} cannot be read as what krmhub has seen of catalogs`, {
    hint: 'Mend it, or remove it: the next snapshot of each catalog is then believed to be the newest.',
  });
}

function parse(text: string): SeenCatalogs | undefined {
  try {
    const value = JSON.parse(text) as Partial<SeenCatalogs> | null;
    if (value?.version !== 1 || typeof value.catalogs !== 'object' || value.catalogs === null)
      return undefined;
    const sound = Object.values(value.catalogs).every(
      (seen: unknown) =>
        typeof seen === 'object' &&
        seen !== null &&
        'serial' in seen &&
        Number.isSafeInteger(seen.serial) &&
        'digest' in seen &&
        typeof seen.digest === 'string',
    );
    return sound ? (value as SeenCatalogs) : undefined;
  } catch {
    return undefined;
  }
}
