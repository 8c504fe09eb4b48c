import type { FileHandle } from 'node:fs/promises';

export type FileFormat = 'executable' | 'gzip' | 'tar' | 'zip' | 'unsupported-archive' | 'unknown';

const TAR_BLOCK_BYTES = 512;
const TAR_MAGIC_OFFSET = 257;

/** First bytes of a program: ELF, Mach-O (32 and 64 bits, and for several processors), PE, and scripts. */
const EXECUTABLE_MAGIC = [
  '7f454c46',
  'feedface',
  'feedfacf',
  'cefaedfe',
  'cffaedfe',
  'cafebabe',
  '4d5a',
  '2321',
];
/** xz, zstd, bzip2, 7z. */
const OTHER_ARCHIVE_MAGIC = ['fd377a585a00', '28b52ffd', '425a68', '377abcaf271c'];

/** Tells by its first bytes what a file is. Names of downloads say too little. */
export async function readFileFormat(handle: FileHandle): Promise<FileFormat> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAR_BLOCK_BYTES), 0, TAR_BLOCK_BYTES, 0);
  return detectFormat(buffer.subarray(0, bytesRead));
}

/** As `readFileFormat`, for the first 512 bytes of a file or more. */
export function detectFormat(head: Buffer): FileFormat {
  const begins = (magic: string) => head.subarray(0, magic.length / 2).toString('hex') === magic;
  if (EXECUTABLE_MAGIC.some(begins)) return 'executable';
  if (begins('1f8b')) return 'gzip';
  if (begins('504b0304') || begins('504b0506')) return 'zip';
  if (OTHER_ARCHIVE_MAGIC.some(begins)) return 'unsupported-archive';
  return isTarHeader(head) ? 'tar' : 'unknown';
}

/** POSIX and GNU archives have a magic text, older ones only a checksum. */
function isTarHeader(head: Buffer): boolean {
  if (head.length < TAR_BLOCK_BYTES) return false;
  if (head.toString('latin1', TAR_MAGIC_OFFSET, TAR_MAGIC_OFFSET + 5) === 'ustar') return true;
  const stored = /^[ \0]*([0-7]+)[ \0]*$/.exec(head.toString('latin1', 148, 156))?.[1];
  // The checksum counts its own field as spaces.
  const sum = head
    .subarray(0, TAR_BLOCK_BYTES)
    .reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  return stored !== undefined && Number.parseInt(stored, 8) === sum;
}
