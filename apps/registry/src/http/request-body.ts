import type { z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import { recheckTokenAfterBody } from './auth/authorize.js';
import { type BodyLease, BodyMemory } from './body-memory.js';
import { type BodyReader, isBodyRead, openBody } from './body-reader.js';
import { rateLimitKey } from './client-address.js';
import type { RegistryContext } from './context.js';

/** Of the whole process, like the memory itself. */
export const bodyMemory = new BodyMemory({
  total: SERVER_LIMITS.maxBodyMemoryBytes,
  share: SERVER_LIMITS.maxBodyMemoryOfClientBytes,
});

/** Frees the memory of the body of a request. */
export function releaseBody(c: RegistryContext): void {
  c.get('bodyLease')?.end();
}

function takeLease(c: RegistryContext): BodyLease {
  const lease = bodyMemory.lease(c.get('tokenId') ?? rateLimitKey(c.get('client')));
  c.set('bodyLease', lease);
  return lease;
}

/** First size of the buffer of a body. */
const MIN_BUFFER_BYTES = 65_536;

/**
 * Reads the whole body. Rejects with `too-large` as soon as the size is known, from Content-Length or from the bytes
 * so far. Rejects with `invalid-request` if the body is truncated or not complete in time.
 */
export async function readBody(
  c: RegistryContext,
  maxBytes: number,
  milliseconds: number = SERVER_LIMITS.bodyMilliseconds,
): Promise<Uint8Array<ArrayBuffer>> {
  const coding = c.req.header('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new KrmhubError('unsupported-media-type', `unsupported Content-Encoding ${coding}`, {
      hint: 'Send the body uncompressed.',
    });
  }
  const tooLarge = () => new KrmhubError('too-large', `the body exceeds ${maxBytes} bytes`);
  const declared = Number(c.req.header('content-length') ?? 0);
  if (declared > maxBytes + SERVER_LIMITS.maxDiscardedBytes) throw tooLarge();
  const reader = openBody(c);
  if (reader === undefined) return new Uint8Array();
  const deadline = startDeadline(reader, milliseconds);
  const refuse = async () => {
    await discard(reader);
    return tooLarge();
  };
  const lease = takeLease(c);
  // One buffer that doubles: a list of many tiny chunks would need far more memory than their bytes.
  let bytes = new Uint8Array();
  let length = 0;
  const grow = async (size: number) => {
    const larger = Math.min(maxBytes, Math.max(bytes.byteLength * 2, size, MIN_BUFFER_BYTES));
    try {
      lease.resize(larger);
    } catch (error) {
      await discard(reader);
      throw error;
    }
    const before = bytes;
    bytes = new Uint8Array(larger);
    bytes.set(before.subarray(0, length));
  };
  try {
    if (declared > maxBytes) throw await refuse();
    for (;;) {
      const pieces = await reader.read();
      if (deadline.passed) throw requestTimeout(milliseconds);
      if (pieces === undefined) {
        const whole = bytes.slice(0, length);
        lease.resize(length);
        // A client can send the body as slowly as it likes.
        await recheckTokenAfterBody(c);
        return whole;
      }
      for (const piece of pieces) {
        if (length + piece.byteLength > maxBytes) throw await refuse();
        if (length + piece.byteLength > bytes.byteLength) await grow(length + piece.byteLength);
        bytes.set(piece, length);
        length += piece.byteLength;
      }
    }
  } catch (error) {
    lease.end();
    reader.cancel();
    if (error instanceof KrmhubError) throw error;
    if (deadline.passed) throw requestTimeout(milliseconds);
    throw new KrmhubError('invalid-request', 'the body is incomplete', { cause: error });
  } finally {
    deadline.clear();
  }
}

/** Yields the body as it arrives, of any size and duration. Throws `invalid-request` if it is truncated. */
export async function* bodyPieces(c: RegistryContext): AsyncIterable<readonly Uint8Array[]> {
  const reader = openBody(c);
  if (reader === undefined) return;
  try {
    for (;;) {
      const pieces = await reader.read().catch((cause: unknown) => {
        throw new KrmhubError('invalid-request', 'the body is incomplete', { cause });
      });
      if (pieces === undefined) {
        await recheckTokenAfterBody(c);
        return;
      }
      yield pieces;
    }
  } finally {
    reader.cancel();
  }
}

/** Discards some of a body before a refusal, as `discard` does. */
export async function discardBody(c: RegistryContext): Promise<void> {
  if (isBodyRead(c)) return;
  const reader = openBody(c);
  if (reader === undefined) return;
  await discard(reader).catch(() => undefined);
  reader.cancel();
}

/**
 * Reads on for a limited time, and drops the bytes: if the connection closes while the client still sends, the client
 * sees a broken connection and not the response.
 */
async function discard(reader: BodyReader): Promise<void> {
  const { maxDiscardedBytes, discardMilliseconds } = SERVER_LIMITS;
  const deadline = startDeadline(reader, discardMilliseconds);
  let discarded = 0;
  while (discarded < maxDiscardedBytes && !deadline.passed) {
    const pieces = await reader.read();
    if (pieces === undefined) break;
    for (const { byteLength } of pieces) discarded += byteLength;
  }
  deadline.clear();
}

/** Cancels the reader at the deadline. A race with each piece would leak memory for each. */
function startDeadline(reader: BodyReader, milliseconds: number): { passed: boolean; clear: () => void } {
  const timer = setTimeout(() => {
    deadline.passed = true;
    reader.cancel();
  }, milliseconds);
  const deadline = { passed: false, clear: () => clearTimeout(timer) };
  return deadline;
}

function requestTimeout(milliseconds: number): KrmhubError {
  return new KrmhubError(
    'invalid-request',
    `the body was not received within ${milliseconds / 1000} seconds`,
  );
}

/** Returns the media type of the body in lower case, without parameters; undefined if there is none. */
export function bodyMediaType(c: RegistryContext): string | undefined {
  return mediaTypeEssence(c.req.header('content-type'));
}

export function mediaTypeEssence(text: string | undefined): string | undefined {
  const essence = text?.split(';')[0]?.trim().toLowerCase();
  return essence === '' ? undefined : essence;
}

const YAML_MEDIA_TYPES = [
  'application/yaml',
  'text/yaml',
  'application/x-yaml',
  'text/x-yaml',
  'application/json',
];

/** Reads a body of YAML or JSON; `refused` is the message for other media types. */
export async function readYamlBody(
  c: RegistryContext,
  maxBytes: number,
  refused: { what: string; hint: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const mediaType = bodyMediaType(c);
  if (mediaType === undefined || !YAML_MEDIA_TYPES.includes(mediaType)) {
    throw new KrmhubError(
      'unsupported-media-type',
      `unsupported media type for ${refused.what}: ${mediaType ?? '(none)'}`,
      { hint: refused.hint },
    );
  }
  return readBody(c, maxBytes);
}

/** Reads a JSON body and checks it with the schema. `fallback` is the value of a missing body. */
export async function readJsonBody<Schema extends z.ZodType>(
  c: RegistryContext,
  schema: Schema,
  fallback?: z.output<Schema>,
): Promise<z.output<Schema>> {
  const bytes = await readBody(c, SERVER_LIMITS.maxJsonBytes);
  if (bytes.byteLength === 0 && fallback !== undefined) return fallback;
  const mediaType = bodyMediaType(c);
  if (mediaType !== 'application/json') {
    throw new KrmhubError(
      'unsupported-media-type',
      `the body is ${mediaType ?? 'without a media type'}, expected application/json`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new KrmhubError('invalid-request', 'the body is not valid JSON', { cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new KrmhubError('invalid-request', problems.join('; '));
}
