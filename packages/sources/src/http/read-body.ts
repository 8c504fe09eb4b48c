import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { printable } from '@krmhub/schema/network-reason';
import { SourceFailure, tooLargeFailure } from '../failure.js';

export interface BodyOptions {
  /** Name in messages. */
  what: string;
  /** Limit for the compressed and for the decompressed body. */
  maxBytes: number;
  touch(): void;
  onProgress?: ((bytes: number) => void) | undefined;
}

/** Reads and decompresses a response body, and checks the limit while reading. */
export async function readBody(response: IncomingMessage, options: BodyOptions): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  await streamBody(response, options, async (body) => {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.byteLength;
    }
  });
  return Buffer.concat(pieces, size);
}

/** Passes on a response body, decompressed and within the limit. `consume` has to read all of it. */
export async function streamBody<Result>(
  response: IncomingMessage,
  options: BodyOptions,
  consume: (body: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const { what, maxBytes, touch, onProgress } = options;
  const contentLength = response.headers['content-length'];
  if (contentLength !== undefined && Number(contentLength) > maxBytes) throw tooLargeFailure(what, maxBytes);
  const packed = isCompressed(response, what);
  let received = 0;
  const arriving = async function* (source: AsyncIterable<Uint8Array>) {
    for await (const piece of source) {
      touch();
      received += piece.byteLength;
      if (received > maxBytes) throw tooLargeFailure(what, maxBytes);
      onProgress?.(received);
      yield piece;
    }
  };
  const limited = async function* (source: AsyncIterable<Uint8Array>) {
    let size = 0;
    for await (const piece of source) {
      size += piece.byteLength;
      if (size > maxBytes) throw tooLargeFailure(what, maxBytes);
      yield piece;
    }
  };
  let result: Result | undefined;
  const collect = async (source: AsyncIterable<Uint8Array>) => {
    result = await consume(limited(source));
  };
  try {
    await (packed
      ? pipeline(response, arriving, createGunzip(), collect)
      : pipeline(response, arriving, collect));
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ECONNRESET' && contentLength !== undefined) {
      throw new SourceFailure(
        'bad-answer',
        `${what} ended after ${received} of ${Number(contentLength)} bytes`,
        {
          hint: 'Check the server and the proxies. The response is shorter than its Content-Length.',
          cause: error,
          isTemporary: true,
        },
      );
    }
    throw error;
  }
  return result as Result;
}

function isCompressed(response: IncomingMessage, what: string): boolean {
  const coding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return false;
  if (coding === 'gzip' || coding === 'x-gzip') return true;
  throw new SourceFailure(
    'bad-answer',
    `${what} has the unsupported content coding "${printable(coding, 50)}"`,
  );
}
