import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

export interface EncodedBody {
  bytes: Uint8Array | string;
  contentType: string;
}

/** Returns the bytes of a body as it is sent. */
export async function encodeBody({
  body,
  contentType,
}: {
  body?: Uint8Array | string | FormData;
  contentType?: string;
}): Promise<EncodedBody | undefined> {
  if (body === undefined) return undefined;
  if (!(typeof body === 'string' || body instanceof Uint8Array)) {
    const form = new Response(body);
    return {
      bytes: new Uint8Array(await form.arrayBuffer()),
      contentType: form.headers.get('content-type') ?? '',
    };
  }
  return { bytes: body, contentType: contentType ?? 'application/octet-stream' };
}

/** Returns undefined for an unsupported content coding. */
export async function decompress(
  response: IncomingMessage,
  coding: string | undefined,
): Promise<Readable | undefined> {
  if (coding === undefined || coding === 'identity') return response;
  if (coding !== 'gzip' && coding !== 'br') return undefined;
  const [{ pipeline }, { createBrotliDecompress, createGunzip }] = await Promise.all([
    import('node:stream'),
    import('node:zlib'),
  ]);
  // Errors are thrown where the decompressed bytes are read.
  return pipeline(response, coding === 'gzip' ? createGunzip() : createBrotliDecompress(), () => undefined);
}

/** Returns undefined for bytes that are not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
