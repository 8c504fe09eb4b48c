import { readSync, writeSync } from 'node:fs';

/** Length prefix of frames on standard streams: bytes of the frame, four bytes, little-endian. */
export const HEADER_BYTES = 4;
/** Set in the length of a frame that is only a part of a response. */
const PART = 0x8000_0000;

export function frameLength(bytes: Uint8Array, { isPart = false } = {}): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(bytes.byteLength + (isPart ? PART : 0));
  return header;
}

export function readFrameLength(header: Buffer): { bytes: number; isPart: boolean } {
  const length = header.readUInt32LE();
  return length < PART ? { bytes: length, isPart: false } : { bytes: length - PART, isPart: true };
}

/**
 * Writes an empty frame, then responds to each frame of the standard input until it ends. `sendPart` writes a part of
 * the response, and waits until most of it is read.
 */
export function respondToFrames(
  respond: (input: Buffer, sendPart: (part: Uint8Array) => void) => Uint8Array,
): void {
  const sendPart = (part: Uint8Array): void => {
    writeAll(frameLength(part, { isPart: true }));
    writeAll(part);
  };
  writeAll(frameLength(new Uint8Array()));
  for (;;) {
    const length = readExactly(HEADER_BYTES)?.readUInt32LE();
    const input = length === undefined ? undefined : readExactly(length);
    if (input === undefined) return;
    const output = respond(input, sendPart);
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
