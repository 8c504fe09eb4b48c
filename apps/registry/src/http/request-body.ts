import type { z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { RegistryContext } from './context.js';

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * The whole body. Rejects with `too-large` as soon as that is known, from Content-Length or from what
 * has arrived, and with `invalid-request` for one that is cut off or not complete in time.
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
  const { body } = c.req.raw;
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const deadline = startDeadline(reader, milliseconds);
  const refuse = async () => {
    await discard(reader);
    return tooLarge();
  };
  // One buffer that doubles: a list of many tiny chunks would take far more memory than their bytes.
  let bytes = new Uint8Array(Math.min(maxBytes, 65_536));
  let length = 0;
  try {
    if (declared > maxBytes) throw await refuse();
    for (;;) {
      const { done, value } = await reader.read();
      if (deadline.passed) throw requestTimeout(milliseconds);
      if (done) return bytes.slice(0, length);
      if (length + value.byteLength > maxBytes) throw await refuse();
      if (length + value.byteLength > bytes.byteLength) {
        const larger = new Uint8Array(
          Math.min(maxBytes, Math.max(bytes.byteLength * 2, length + value.byteLength)),
        );
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(value, length);
      length += value.byteLength;
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    if (error instanceof KrmhubError) throw error;
    if (deadline.passed) throw requestTimeout(milliseconds);
    throw new KrmhubError('invalid-request', 'the body is incomplete', { cause: error });
  } finally {
    deadline.clear();
  }
}

/** The body as it comes, of any size and for as long as it takes. Ends with `invalid-request` where it is cut off. */
export async function* bodyPieces(c: RegistryContext): AsyncIterable<Uint8Array> {
  const { body } = c.req.raw;
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new KrmhubError('invalid-request', 'the body is incomplete', { cause });
      });
      if (done) return;
      yield value;
    }
  } finally {
    // Of a broken body there is nothing to cancel.
    reader.cancel().catch(() => undefined);
  }
}

/** For a refusal before the body was looked at: reads of it what `discard` does. */
export async function discardBody(c: RegistryContext): Promise<void> {
  const { body } = c.req.raw;
  if (body === null || body.locked) return;
  await discard(body.getReader()).catch(() => undefined);
}

/**
 * Reads on for a while and keeps nothing: a client that is still sending when the connection is closed sees a
 * broken connection, and not the answer.
 */
async function discard(reader: BodyReader): Promise<void> {
  const { maxDiscardedBytes, discardMilliseconds } = SERVER_LIMITS;
  const deadline = startDeadline(reader, discardMilliseconds);
  let discarded = 0;
  while (discarded < maxDiscardedBytes && !deadline.passed) {
    const { done, value } = await reader.read();
    if (done) break;
    discarded += value.byteLength;
  }
  deadline.clear();
}

/** Ends the reading when the time is over. A race with each piece would keep something of every one. */
function startDeadline(reader: BodyReader, milliseconds: number): { passed: boolean; clear: () => void } {
  const timer = setTimeout(() => {
    deadline.passed = true;
    reader.cancel().catch(() => undefined);
  }, milliseconds);
  const deadline = { passed: false, clear: () => clearTimeout(timer) };
  return deadline;
}

function requestTimeout(milliseconds: number): KrmhubError {
  return new KrmhubError('invalid-request', `the body did not arrive within ${milliseconds / 1000} seconds`);
}

/** The media type of the body in lower case, without parameters; undefined where there is none. */
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

/** A body of YAML, which JSON is too; `refused` is what to say of other media types. */
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

/** A JSON body in the shape of the schema; `fallback` stands for no body, where one is not needed. */
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
