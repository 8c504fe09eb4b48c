import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { CheckedReader, RegistryContext } from './context.js';

/**
 * Returns what rejects once the token of the request is not valid any more: a client can read for hours. It checks from
 * time to time, and then returns the reader, if anything is hidden.
 */
export function readerChecks(c: RegistryContext): () => Promise<CheckedReader | undefined> {
  let checkedAt = performance.now();
  return async () => {
    if (performance.now() - checkedAt < SERVER_LIMITS.recheckReaderMilliseconds) return undefined;
    await c.get('recheckToken')?.();
    const reader = await c.get('recheckReader')?.();
    checkedAt = performance.now();
    return reader;
  };
}

/** Returns the bytes of a response. If it is for this client only, they end when the client may not read the same any more. */
export function checkedPieces(
  c: RegistryContext,
  pieces: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  if (c.get('isPrivate') !== true) return pieces;
  const check = readerChecks(c);
  return checkedBy(async () => {
    if ((await check())?.isSame === false) throw changed();
  }, pieces);
}

/**
 * Returns what rejects once `isReadable` is false, which is asked from time to time: something public can be hidden, or
 * deleted, while a client reads it.
 */
export function readableChecks(isReadable: () => Promise<boolean>): () => Promise<void> {
  let checkedAt = performance.now();
  return async () => {
    if (performance.now() - checkedAt < SERVER_LIMITS.recheckReaderMilliseconds) return;
    if (!(await isReadable())) throw changed();
    checkedAt = performance.now();
  };
}

/** Returns the bytes of a response. They end once `isReadable` is false. */
export function whileReadable(
  isReadable: () => Promise<boolean>,
  pieces: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  return checkedBy(readableChecks(isReadable), pieces);
}

async function* checkedBy(
  check: () => Promise<void>,
  pieces: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) {
    await check();
    yield piece;
  }
}

function changed(): KrmhubError {
  return new KrmhubError('unauthorized', 'what the client may read was changed meanwhile');
}
