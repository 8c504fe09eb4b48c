import { crc32, deflateRawSync } from 'node:zlib';

/** Archives byte by byte: the hostile ones cannot be made with ordinary programs. */

export interface TarEntry {
  path: string;
  content?: string | Buffer;
  /** `0` file, `1` hard link, `2` symbolic link, `3` device, `5` folder, `6` named pipe, `x` and `g` metadata. */
  type?: string;
  link?: string;
  /** A size other than that of the content. */
  size?: number;
  /** A wrong checksum. */
  isDamaged?: boolean;
}

const BLOCK_BYTES = 512;

export function tarArchive(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(tarBlocks), Buffer.alloc(2 * BLOCK_BYTES)]);
}

function tarBlocks({ path, content = '', type = '0', link = '', isDamaged, ...more }: TarEntry): Buffer[] {
  const bytes = Buffer.from(content);
  const size = more.size ?? bytes.length;
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, length: number) => value.toString(8).padStart(length - 1, '0');
  header.write(path, 0, 100);
  header.write(octal(0o755, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(0, 12), 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, isDamaged === true ? 1 : 0);
  header.write(`${octal(sum, 7)}\0 `, 148);
  const padding = Buffer.alloc((BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES);
  return [header, bytes, padding];
}

/** A record of extended metadata (POSIX pax): its length counts itself. */
export function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const digits = String(rest.length + String(rest.length).length).length;
  return `${rest.length + digits}${rest}`;
}

export interface ZipEntry {
  path: string;
  content?: string | Buffer;
  /** Unix mode with the file type: 0o100755 is a file, 0o120777 a link. */
  mode?: number;
  isStored?: boolean;
  isEncrypted?: boolean;
  /** A size other than that of the content. */
  size?: number;
  /** A checksum other than that of the content. */
  checksum?: number;
}

export function zipArchive(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { path, content = '', mode = 0o100_755, isStored = false, isEncrypted = false } = entry;
    const bytes = Buffer.from(content);
    const stored = isStored ? bytes : deflateRawSync(bytes);
    const name = Buffer.from(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(isEncrypted ? 1 : 0, 2);
    common.writeUInt16LE(isStored ? 0 : 8, 4);
    common.writeUInt32LE(entry.checksum ?? crc32(bytes), 10);
    common.writeUInt32LE(stored.length, 14);
    common.writeUInt32LE(entry.size ?? bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, stored]);
    const more = Buffer.alloc(14);
    more.writeUInt32LE((mode << 16) >>> 0, 6);
    more.writeUInt32LE(offset, 10);
    // Made on Unix.
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), common, more, name]));
    files.push(file);
    offset += file.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, list, end]);
}
