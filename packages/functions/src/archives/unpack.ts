/**
 * Unpacks the executable of a function from an untrusted file: a program or an archive.
 *
 * @module
 */

import type { FileHandle } from 'node:fs/promises';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { KrmhubError } from '@krmhub/schema/error';
import { ArchiveBudget } from './archive-budget.js';
import type { ArchiveReading } from './archive-reading.js';
import { badArchive, entryPath } from './entry-path.js';
import { detectFormat, type FileFormat, readFileFormat } from './file-format.js';
import type { ExecutableLimits } from './limits.js';

export interface Unpacking {
  /** The file, open for reading; stays open. */
  archive: FileHandle;
  /** Path of the executable in an archive. */
  bin: string;
  /** Gets the bytes of the executable. */
  write: (piece: Buffer) => Promise<void>;
  limits: ExecutableLimits;
}

/**
 * Takes the executable out of a file: the file itself, or the entry `bin` of a tar, tar.gz, or zip archive. No other
 * entry is written anywhere. The whole archive is refused if any entry could leave a folder that it is unpacked to,
 * is a device, or has the name of the executable again.
 *
 * Rejects with `invalid-document` for an archive that is refused, with `not-found` if it has no `bin`, and with
 * `unsupported-media-type` for other files.
 */
export async function unpackExecutable({ archive, bin, write, limits }: Unpacking): Promise<void> {
  const { size } = await archive.stat();
  const reading: ArchiveReading = {
    bin: entryPath(bin),
    write,
    limits,
    budget: new ArchiveBudget(size, limits),
  };
  const format = await readFileFormat(archive);
  switch (format) {
    case 'executable':
      for await (const piece of readFile(archive)) await write(piece as Buffer);
      return;
    case 'zip': {
      const { readZip } = await import('./zip.js');
      return await readZip(archive, reading);
    }
    case 'tar':
      return await readTarStream(readFile(archive), reading);
    case 'gzip':
      return await readTarStream(gunzip(archive, reading.budget), reading);
    case 'unsupported-archive':
    case 'unknown':
      throw unsupported(format);
  }
}

async function readTarStream(stream: Readable, reading: ArchiveReading): Promise<void> {
  const { readTar } = await import('./tar.js');
  await readTar(stream, reading);
}

function readFile(archive: FileHandle): Readable {
  return archive.createReadStream({ start: 0, autoClose: false, highWaterMark: 1_048_576 });
}

/** The content of a gzip file, which must be a tar archive. */
function gunzip(archive: FileHandle, budget: ArchiveBudget): Readable {
  const content = new GunzippedTar(budget);
  // Errors of each stream reach the reader of the last one.
  pipeline(readFile(archive), createGunzip(), content).catch((error: unknown) => {
    content.destroy(error instanceof KrmhubError ? error : badArchive('it is corrupt', error));
  });
  return content;
}

class GunzippedTar extends Transform {
  readonly #budget: ArchiveBudget;
  #isFirst = true;

  constructor(budget: ArchiveBudget) {
    super();
    this.#budget = budget;
  }

  override _transform(piece: Buffer, _: BufferEncoding, callback: TransformCallback): void {
    try {
      this.#budget.addBytes(piece.byteLength);
      // The tar library would decompress once more, without limits.
      const format = this.#isFirst ? detectFormat(piece) : 'tar';
      this.#isFirst = false;
      if (format !== 'tar') throw unsupported(format, 'The content of the gzip file');
      callback(null, piece);
    } catch (error) {
      callback(error as Error);
    }
  }
}

function unsupported(format: FileFormat, subject = 'The file'): KrmhubError {
  const is =
    format === 'unsupported-archive'
      ? 'is an unsupported type of archive'
      : 'is neither a program nor an archive';
  return new KrmhubError(
    'unsupported-media-type',
    `cannot install the executable: ${subject.toLowerCase()} ${is}`,
    {
      hint: 'Publish the program itself, or a tar.gz, tar, or zip archive with it.',
    },
  );
}
