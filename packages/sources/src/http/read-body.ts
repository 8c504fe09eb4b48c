import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { printable } from '@krmhub/schema/network-reason';
import { SourceFailure, tooLargeFailure } from '../failure.js';

export interface BodyOptions {
  /** What messages call it. */
  what: string;
  /** Of the bytes as they come, and unpacked. */
  maxBytes: number;
  touch(): void;
  onProgress?: ((bytes: number) => void) | undefined;
}

/** The bytes of an answer, unpacked; the limit holds while they come. */
export async function readBody(response: IncomingMessage, options: BodyOptions): Promise<Uint8Array> {
  const { what, maxBytes, touch, onProgress } = options;
  const said = response.headers['content-length'];
  if (said !== undefined && Number(said) > maxBytes) throw tooLargeFailure(what, maxBytes);
  const packed = isCompressed(response, what);
  let came = 0;
  let size = 0;
  const pieces: Uint8Array[] = [];
  const arriving = async function* (source: AsyncIterable<Uint8Array>) {
    for await (const piece of source) {
      touch();
      came += piece.byteLength;
      if (came > maxBytes) throw tooLargeFailure(what, maxBytes);
      onProgress?.(came);
      yield piece;
    }
  };
  const collect = async (source: AsyncIterable<Uint8Array>) => {
    for await (const piece of source) {
      size += piece.byteLength;
      if (size > maxBytes) throw tooLargeFailure(what, maxBytes);
      pieces.push(piece);
    }
  };
  try {
    await (packed
      ? pipeline(response, arriving, createGunzip(), collect)
      : pipeline(response, arriving, collect));
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ECONNRESET' && said !== undefined) {
      throw new SourceFailure(
        'bad-answer',
        `${what} was announced with ${Number(said)} bytes, and ended after ${came}`,
        {
          hint: 'Something between here and there cuts its answers, or it counts them wrong.',
          cause: error,
          isTemporary: true,
        },
      );
    }
    throw error;
  }
  return Buffer.concat(pieces, size);
}

function isCompressed(response: IncomingMessage, what: string): boolean {
  const coding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return false;
  if (coding === 'gzip' || coding === 'x-gzip') return true;
  throw new SourceFailure(
    'bad-answer',
    `${what} came packed as "${printable(coding, 50)}", which was not asked for`,
  );
}
