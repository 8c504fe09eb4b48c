import { type Digest, sha256 } from '@krmhub/schema';
import type { Coding } from './content-coding.js';
import type { RegistryContext } from './context.js';
import { type DerivedTag, NegotiatedDocument, type ServedDocument } from './negotiated-document.js';
import { checkedPieces, whileReadable } from './reader-checks.js';

export const CACHE_FOREVER = 'public, max-age=31536000, immutable';
/** For content that may be a minute old. */
export const CACHE_SHORT = 'public, max-age=60';
/** Caches must revalidate, and mostly get a 304. */
export const CACHE_REVALIDATE = 'no-cache';

/** Bytes in memory, or a stream with its size in bytes. */
export type Body = Uint8Array | { size: number; pieces: AsyncIterable<Uint8Array> };

export interface BytesResponse extends ServedDocument<Digest | DerivedTag> {
  /** Returns the bytes in the coding, or uncompressed if they do not exist in it. Not called for a 304. */
  find(coding: Coding): Promise<{ coding: Coding; body: Body }>;
  /** Whether the client may still read it. Asked from time to time while a stream is sent; absent if that does not change. */
  isReadable?(): Promise<boolean>;
}

/** Responds to GET and HEAD with bytes that a digest identifies. */
export function bytesResponse(c: RegistryContext, document: BytesResponse): Promise<Response> {
  const negotiated = new NegotiatedDocument(document, c.req.header('accept-encoding'));
  return negotiatedResponse(c, negotiated, document);
}

/** Responds as `bytesResponse`, with a decision that was made before for the same Accept-Encoding. */
export async function negotiatedResponse(
  c: RegistryContext,
  negotiated: NegotiatedDocument,
  { find, isReadable = async () => true }: Pick<BytesResponse, 'find' | 'isReadable'>,
): Promise<Response> {
  const notModified = negotiated.notModified(c.req.header('if-none-match'));
  if (notModified !== undefined) return new Response(null, notModified);
  const { coding, body } = await find(negotiated.coding);
  const inMemory = body instanceof Uint8Array;
  const head = negotiated.ok(coding, inMemory ? body.byteLength : body.size);
  // The framework dispatches HEAD as GET, and drops the body only after it exists.
  if (c.req.method === 'HEAD') return new Response(null, head);
  c.set('isStream', !inMemory);
  const sent = inMemory
    ? (body as Uint8Array<ArrayBuffer>)
    : ReadableStream.from(whileReadable(isReadable, checkedPieces(c, body.pieces)));
  return new Response(sent as Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>, head);
}

/** Responds with a text that is generated for this response and exists in no other coding. */
export function textResponse(
  c: RegistryContext,
  text: string,
  document: Pick<ServedDocument, 'mediaType' | 'cacheControl' | 'headers'>,
): Promise<Response> {
  const bytes = new TextEncoder().encode(text);
  return bytesResponse(c, { ...document, digest: sha256(bytes), find: async () => uncompressed(bytes) });
}

/** Returns bytes that exist in no other coding, for `BytesResponse.find`. */
export function uncompressed(body: Body): { coding: 'identity'; body: Body } {
  return { coding: 'identity', body };
}
