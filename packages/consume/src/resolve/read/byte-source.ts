import { type FileHandle, open } from 'node:fs/promises';
import { escapeControls } from '@krmhub/schema/text';
import { diskError } from '../../files/read-file.js';

/** Bytes of which parts are read. */
export interface ByteSource {
  /** Returns exactly these bytes; undefined if there are fewer. */
  read(offset: number, length: number): Promise<Uint8Array | undefined>;
  /** Returns the first bytes, at most `length` of them. */
  readUpTo(length: number): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

export function memorySource(bytes: Uint8Array): ByteSource {
  return {
    read: async (offset, length) =>
      offset + length > bytes.byteLength ? undefined : bytes.subarray(offset, offset + length),
    readUpTo: async (length) => bytes.subarray(0, length),
    close: async () => undefined,
  };
}

/** Undefined for a file that does not exist. */
export async function fileSource(file: string): Promise<ByteSource | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return undefined;
    }
    throw diskError(error, escapeControls(`cannot read ${file}`));
  }
  const readAt = async (offset: number, length: number): Promise<Uint8Array> => {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  };
  return {
    async read(offset, length) {
      const bytes = await readAt(offset, length);
      return bytes.byteLength === length ? bytes : undefined;
    },
    readUpTo: (length) => readAt(0, length),
    close: () => handle.close(),
  };
}
