import type { StandardInput } from './io.js';

export const STDIN_NAME = '<stdin>';

/** Reads stdin, up to one byte over the limit. */
export async function readStdin(io: StandardInput, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of io.stdin) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array);
    chunks.push(bytes);
    size += bytes.length;
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes + 1);
}
