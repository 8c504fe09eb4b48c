import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { type Digest, isDigest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Cache } from '../../cache/cache.js';
import type { CacheWriter } from '../../cache/cache-writer.js';
import { diskError } from '../../files/read-file.js';
import { RESOLVE_LIMITS } from '../../limits.js';
import type { WholeDocument } from './indexed-document.js';

/** Of one signature beside a catalog. */
const MAX_BUNDLE_BYTES = 1_048_576;

interface FileState {
  size: number;
  /** Nanoseconds; as text, because they exceed the integers of JSON. */
  modified: string;
  changed: string;
  inode: string;
}

/**
 * Opens a catalog on this disk. The digest of a file that did not change since it was read last comes from the cache.
 * Throws `not-found`, `unavailable` and `too-large`.
 */
export async function openLocalFile(
  file: string,
  { cache, writer, now }: { cache: Cache; writer: CacheWriter; now: () => Date },
): Promise<WholeDocument> {
  const handle = await openRegular(file);
  try {
    const state = await readState(handle);
    const known = await knownDigest(file, state, cache);
    if (known !== undefined) return wholeFile(file, known);
    const at = now().getTime();
    const bytes = await readAll(handle, file, RESOLVE_LIMITS.maxCatalogBytes);
    const digest = sha256(bytes);
    // A file that was written while it was read, or just before, is read again next time.
    const isSettled =
      sameState(state, await readState(handle)) &&
      at - Number(BigInt(state.modified) / 1_000_000n) > RESOLVE_LIMITS.racyMilliseconds;
    await writer.write(async () => {
      if (isSettled) await cache.writeRecord('files', file, { ...state, digest });
      else await cache.removeRecord('files', file);
    });
    return { ...wholeFile(file, digest), read: async () => bytes };
  } finally {
    await handle.close();
  }
}

/** Forgets what is known of a file, so that it is read again. */
export async function forgetLocalFile(file: string, cache: Cache): Promise<void> {
  await cache.removeRecord('files', file);
}

/** Reads the signatures beside a catalog; none if there are none. */
export async function readSiblingBundles(file: string): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const name of ['snapshot.sigstore.json', `${path.basename(file)}.sigstore.json`]) {
    try {
      const handle = await openRegular(path.join(path.dirname(file), name));
      try {
        found.push(await readAll(handle, name, MAX_BUNDLE_BYTES));
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'not-found') throw error;
    }
  }
  return found;
}

function wholeFile(file: string, digest: Digest): WholeDocument {
  return {
    digest,
    file,
    name: file,
    async read() {
      const handle = await openRegular(file);
      try {
        const bytes = await readAll(handle, file, RESOLVE_LIMITS.maxCatalogBytes);
        if (sha256(bytes) === digest) return bytes;
      } finally {
        await handle.close();
      }
      throw new KrmhubError('unavailable', escapeControls(`${file} changed while it was read`), {
        hint: 'Run the command again when no other program writes the file.',
      });
    },
  };
}

async function knownDigest(file: string, state: FileState, cache: Cache): Promise<Digest | undefined> {
  const record = (await cache.readRecord('files', file)) as
    | Partial<FileState & { digest: string }>
    | undefined;
  if (record?.digest === undefined || !isDigest(record.digest)) return undefined;
  return sameState(state, record) ? record.digest : undefined;
}

async function openRegular(file: string): Promise<FileHandle> {
  // Does not wait for the writer of a pipe.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw diskError(error, escapeControls(`cannot read ${file}`));
  });
  const status = await handle.stat();
  if (status.isFile()) return handle;
  await handle.close();
  throw new KrmhubError(
    'unavailable',
    escapeControls(`cannot read ${file}: it is ${status.isDirectory() ? 'a folder' : 'not a regular file'}`),
    { hint: 'Use the path of the catalog file.' },
  );
}

async function readAll(handle: FileHandle, file: string, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of handle.createReadStream({
    autoClose: false,
    start: 0,
    end: maxBytes,
    highWaterMark: 1_048_576,
  })) {
    pieces.push(piece as Uint8Array);
    size += (piece as Uint8Array).byteLength;
  }
  if (size <= maxBytes) return Buffer.concat(pieces, size);
  throw new KrmhubError('too-large', escapeControls(`${file} is larger than ${maxBytes} bytes`));
}

async function readState(handle: FileHandle): Promise<FileState> {
  const { size, mtimeNs, ctimeNs, ino } = await handle.stat({ bigint: true });
  return {
    size: Number(size),
    modified: String(mtimeNs),
    changed: String(ctimeNs),
    inode: String(ino),
  };
}

function sameState(a: FileState, b: Partial<FileState>): boolean {
  return a.size === b.size && a.modified === b.modified && a.changed === b.changed && a.inode === b.inode;
}
