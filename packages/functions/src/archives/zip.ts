import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { KrmhubError } from '@krmhub/schema/error';
import { type Entry, fromFd, type ZipFile } from 'yauzl';
import { type ArchiveReading, missingEntry } from './archive-reading.js';
import { badArchive, checkLink, entryPath, shown } from './entry-path.js';

/** The file type in a Unix mode, which is in the upper half of an entry's external attributes. */
const TYPE_MASK = 0o170_000;
const TYPE_LINK = 0o120_000;
/** No type, a file, a folder, a link. */
const ALLOWED_TYPES = [0, 0o100_000, 0o040_000, TYPE_LINK];
/** Longest target of a link. */
const MAX_TARGET_BYTES = 1_024;

/** Reads the directory of a zip archive and writes the entry `bin`. The sizes that it states are checked. */
export async function readZip(archive: FileHandle, reading: ArchiveReading): Promise<void> {
  try {
    const zip = await openZip(archive);
    const entries = await readEntries(zip, reading);
    const [found, second] = entries.filter((entry) => entryPath(entry.fileName) === reading.bin);
    if (second !== undefined) throw badArchive(`it has ${shown(reading.bin)} twice`);
    if (found === undefined || isFolder(found)) throw missingEntry(reading.bin);
    await writeEntry(zip, found, reading);
  } catch (error) {
    throw error instanceof KrmhubError ? error : badArchive('it is corrupt', error);
  }
}

function openZip(archive: FileHandle): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    const options = { lazyEntries: true, autoClose: false, strictFileNames: true };
    fromFd(archive.fd, options, (error, zip) => (error ? reject(error) : resolve(zip)));
  });
}

async function readEntries(zip: ZipFile, reading: ArchiveReading): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let entry = await nextEntry(zip); entry !== undefined; entry = await nextEntry(zip)) {
    reading.budget.addEntry();
    reading.budget.addBytes(entry.uncompressedSize);
    await checkEntry(zip, entry, reading);
    entries.push(entry);
  }
  return entries;
}

/** The next entry of the directory; undefined at its end. */
function nextEntry(zip: ZipFile): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void) => {
      zip.removeAllListeners('entry').removeAllListeners('end').removeAllListeners('error');
      zip.on('error', () => undefined);
      action();
    };
    zip.once('entry', (entry: Entry) => settle(() => resolve(entry)));
    zip.once('end', () => settle(() => resolve(undefined)));
    zip.once('error', (error) => settle(() => reject(error)));
    zip.readEntry();
  });
}

async function checkEntry(zip: ZipFile, entry: Entry, { bin }: ArchiveReading): Promise<void> {
  const name = entryPath(entry.fileName);
  const type = (entry.externalFileAttributes >>> 16) & TYPE_MASK;
  if (!ALLOWED_TYPES.includes(type)) {
    throw badArchive(`its entry ${shown(entry.fileName)} is not a file, a folder, or a link`);
  }
  if (type !== TYPE_LINK) return;
  if (name === bin) throw badArchive(`${shown(bin)} is a link, not a file`);
  if (entry.uncompressedSize > MAX_TARGET_BYTES)
    throw badArchive(`its link ${shown(entry.fileName)} is too long`);
  const target: Buffer[] = [];
  for await (const piece of await openEntry(zip, entry)) target.push(piece as Buffer);
  checkLink(entry.fileName, Buffer.concat(target).toString());
}

async function writeEntry(zip: ZipFile, entry: Entry, { bin, write }: ArchiveReading): Promise<void> {
  let checksum = 0;
  for await (const piece of await openEntry(zip, entry)) {
    checksum = crc32(piece as Buffer, checksum);
    await write(piece as Buffer);
  }
  if (checksum !== entry.crc32) throw badArchive(`the checksum of ${shown(bin)} does not match`);
}

function openEntry(zip: ZipFile, entry: Entry): Promise<NodeJS.ReadableStream> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
}

function isFolder(entry: Entry): boolean {
  return entry.fileName.endsWith('/');
}
