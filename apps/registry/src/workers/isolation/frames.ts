import { readSync, writeSync } from 'node:fs';

/** Length prefix of frames on standard streams: bytes of the frame, four bytes, little-endian. */
export const HEADER_BYTES = 4;

export function frameLength(bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(bytes.byteLength);
  return header;
}

/** Writes an empty frame, then responds to each frame of the standard input until it ends. */
export function respondToFrames(respond: (input: Buffer) => Uint8Array): void {
  writeAll(frameLength(new Uint8Array()));
  for (;;) {
    const length = readExactly(HEADER_BYTES)?.readUInt32LE();
    const input = length === undefined ? undefined : readExactly(length);
    if (input === undefined) return;
    const output = respond(input);
    writeAll(frameLength(output));
    writeAll(output);
  }
}

/** Returns undefined at the end of the input. */
function readExactly(bytes: number): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes; ) {
    const read = readSync(0, buffer, at, bytes - at, null);
    if (read === 0) return undefined;
    at += read;
  }
  return buffer;
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(1, bytes, at);
}
