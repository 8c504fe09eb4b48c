import { crc32 } from 'node:zlib';

/** Writes archives whose bytes depend only on the names and contents of their files. */

/** A file of an archive. */
export interface ArchiveFile {
  /** Path below the root of the archive, with `/`. */
  name: string;
  bytes: Uint8Array;
}

const BLOCK_BYTES = 512;
/** Bytes of a name that the header of a file can hold. */
const MAX_HEADER_NAME_BYTES = 100;

/**
 * Returns a POSIX tar archive (pax) of regular files in the given order: mode 0644, user and group 0, time 1970. It has
 * no entries for folders, which every reader creates.
 */
export function tarArchive(files: readonly ArchiveFile[]): Uint8Array {
  const parts = files.flatMap(({ name, bytes }) => [...tarHeaders(name, bytes.byteLength), ...padded(bytes)]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function tarHeaders(name: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(name);
  // Without an extended header, readers disagree about the encoding of a name.
  if (bytes.length <= MAX_HEADER_NAME_BYTES && /^[\x20-\x7e]*$/.test(name))
    return [tarHeader(bytes, size, '0')];
  const record = paxRecord('path', name);
  const short = bytes.subarray(0, MAX_HEADER_NAME_BYTES);
  return [
    tarHeader(Buffer.from('PaxHeaders/name'), record.length, 'x'),
    ...padded(record),
    tarHeader(short, size, '0'),
  ];
}

/** Returns `LENGTH KEY=VALUE`, where the length counts its own digits (pax, "Extended Header Keyword"). */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function tarHeader(name: Uint8Array, size: number, type: '0' | 'x'): Uint8Array {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.set(name, 0);
  const field = (text: string, offset: number) => header.write(text, offset, 'latin1');
  field('0000644\0', 100);
  field('0000000\0', 108);
  field('0000000\0', 116);
  field(`${size.toString(8).padStart(11, '0')}\0`, 124);
  field('00000000000\0', 136);
  // The checksum is computed with blanks in its own field.
  field('        ', 148);
  field(type, 156);
  field('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  field(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function padded(bytes: Uint8Array): Uint8Array[] {
  const rest = bytes.byteLength % BLOCK_BYTES;
  return rest === 0 ? [bytes] : [bytes, Buffer.alloc(BLOCK_BYTES - rest)];
}

/** Bytes of a block that deflate stores without compression (RFC 1951, 3.2.4). */
const MAX_STORED_BYTES = 65_535;
/** Magic number, deflate, no flags, no time, no extra flags, unknown system (RFC 1952, 2.3). */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

/**
 * Returns a gzip file that stores its content uncompressed. What zlib compresses depends on its version and the
 * processor, so that the digest would too.
 */
export function storedGzip(content: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [GZIP_HEADER];
  let start = 0;
  do {
    const block = content.subarray(start, start + MAX_STORED_BYTES);
    start += block.byteLength;
    const head = Buffer.alloc(5);
    head[0] = start >= content.byteLength ? 1 : 0;
    head.writeUInt16LE(block.byteLength, 1);
    head.writeUInt16LE(~block.byteLength & 0xffff, 3);
    parts.push(head, block);
  } while (start < content.byteLength);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(content), 0);
  trailer.writeUInt32LE(content.byteLength % 2 ** 32, 4);
  return Buffer.concat([...parts, trailer]);
}
