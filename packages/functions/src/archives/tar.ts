import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { KrmhubError } from '@krmhub/schema/error';
import { Parser, type ReadEntry } from 'tar';
import { type ArchiveReading, missingEntry } from './archive-reading.js';
import { badArchive, checkLink, entryPath, shown } from './entry-path.js';

const FILES: readonly string[] = ['File', 'OldFile', 'ContiguousFile'];
const LINKS: readonly string[] = ['Link', 'SymbolicLink'];

/**
 * Reads a tar archive to its end and writes the entry `bin`. Only the parser of the library is used: it writes no
 * files.
 */
export async function readTar(stream: Readable, reading: ArchiveReading): Promise<void> {
  const { bin, write, limits } = reading;
  let failure: unknown;
  let found: Promise<void> | undefined;
  const fail = (error: unknown) => {
    failure ??= error instanceof KrmhubError ? error : badArchive('it is corrupt', error);
    stream.destroy();
  };
  const parser = new Parser({
    strict: true,
    maxMetaEntrySize: limits.maxMetadataBytes,
    onReadEntry: (entry) => {
      try {
        checkEntry(entry, reading);
        if (FILES.includes(entry.type) && entryPath(entry.path) === bin) {
          if (found !== undefined) throw badArchive(`it has ${shown(bin)} twice`);
          found = writeEntry(entry, write);
          found.catch(fail);
          return;
        }
      } catch (error) {
        fail(error);
      }
      entry.resume();
    },
  });
  // Entries of unknown types, and metadata that is too large: what they mean for other entries is not known.
  parser.on('ignoredEntry', (entry: ReadEntry) =>
    fail(badArchive(`its entry ${shown(entry.path)} is not supported`)),
  );
  parser.on('error', fail);
  stream.on('error', fail);
  const parsed = new Promise<void>((resolve) => parser.once('end', resolve));
  stream.on('data', (piece: Buffer) => {
    if (failure !== undefined) return;
    try {
      if (parser.write(piece)) return;
      stream.pause();
      parser.once('drain', () => stream.resume());
    } catch (error) {
      fail(error);
    }
  });
  await finished(stream, { writable: false }).catch(fail);
  if (failure === undefined) {
    parser.end();
    await parsed;
    await found;
  }
  if (failure !== undefined) throw failure;
  if (found === undefined) throw missingEntry(bin);
}

function checkEntry(entry: ReadEntry, { bin, budget }: ArchiveReading): void {
  budget.addEntry();
  const name = entryPath(entry.path);
  const { type, linkpath = '' } = entry;
  if (type === 'SymbolicLink') checkLink(entry.path, linkpath);
  // A hard link names another entry from the folder of the archive.
  else if (type === 'Link') entryPath(linkpath);
  else if (!FILES.includes(type) && type !== 'Directory') {
    throw badArchive(`its entry ${shown(entry.path)} is not a file, a folder, or a link`);
  }
  if (LINKS.includes(type) && name === bin) {
    throw badArchive(`${shown(bin)} is a link to ${shown(linkpath)}, not a file`);
  }
}

async function writeEntry(entry: ReadEntry, write: (piece: Buffer) => Promise<void>): Promise<void> {
  for await (const piece of entry) await write(piece);
}
