import { type Digest, sha256 } from '@krmhub/schema';
import { CODINGS, type Coding, negotiateCoding } from './content-coding.js';
import type { RegistryContext } from './context.js';

export const CACHE_FOREVER = 'public, max-age=31536000, immutable';
/** For what is replaced by something as good, long before it would be missed. */
export const CACHE_SHORT = 'public, max-age=60';
/** A cache asks each time, and mostly gets a 304. */
export const CACHE_REVALIDATE = 'no-cache';

/** Bytes in memory, or so many in pieces. */
export type Body = Uint8Array | { size: number; pieces: AsyncIterable<Uint8Array> };

export interface BytesResponse {
  /** Of the bytes as they are without a coding: the ETag. */
  digest: Digest;
  mediaType: string;
  cacheControl: string;
  headers?: Record<string, string>;
  /** Whether there may be codings to choose from; only identity else. */
  coded?: boolean;
  /** Not called for a 304. Must give the bytes in the coding, or as they are where there are none in this coding. */
  find(coding: Coding): Promise<{ coding: Coding; body: Body }>;
}

/** Answers GET and HEAD with bytes that a digest names: ETag, If-None-Match and Accept-Encoding (RFC 9110). */
export async function bytesResponse(c: RegistryContext, answer: BytesResponse): Promise<Response> {
  const { digest, mediaType, cacheControl, coded = false, headers: others = {} } = answer;
  const wanted = coded ? negotiateCoding(c.req.header('accept-encoding')) : 'identity';
  const headers = new Headers({ ...others, 'Cache-Control': cacheControl });
  if (coded) headers.append('Vary', 'Accept-Encoding');
  const matched = matchingTag(
    c.req.header('if-none-match'),
    coded ? codedTags(digest, wanted) : [entityTag(digest, wanted)],
  );
  if (matched !== undefined) {
    headers.set('ETag', matched);
    return new Response(null, { status: 304, headers });
  }
  const { coding, body } = await answer.find(wanted);
  headers.set('ETag', entityTag(digest, coding));
  headers.set('Content-Type', mediaType);
  if (coding !== 'identity') headers.set('Content-Encoding', coding);
  const inMemory = body instanceof Uint8Array;
  headers.set('Content-Length', String(inMemory ? body.byteLength : body.size));
  // The framework dispatches HEAD as GET, and drops the body only when it has been made.
  if (c.req.method === 'HEAD') return new Response(null, { headers });
  const sent = inMemory ? (body as Uint8Array<ArrayBuffer>) : ReadableStream.from(body.pieces);
  return new Response(sent as Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>, { headers });
}

/** A text that was made for this answer, and is in no other coding. */
export function textResponse(
  c: RegistryContext,
  text: string,
  answer: Pick<BytesResponse, 'mediaType' | 'cacheControl' | 'headers'>,
): Promise<Response> {
  const bytes = new TextEncoder().encode(text);
  return bytesResponse(c, { ...answer, digest: sha256(bytes), find: async () => uncompressed(bytes) });
}

/** Bytes that are in no other coding, for `BytesResponse.find`. */
export function uncompressed(body: Body): { coding: 'identity'; body: Body } {
  return { coding: 'identity', body };
}

/** RFC 9110: other bytes need another tag, so a coding has its suffix. */
export function entityTag(digest: Digest, coding: Coding): string {
  return coding === 'identity' ? `"${digest}"` : `"${digest}-${coding}"`;
}

/** The tags of a document in every coding, the one that would be sent first. */
export function codedTags(digest: Digest, coding: Coding): string[] {
  return [coding, ...CODINGS].map((one) => entityTag(digest, one));
}

/** The tag of ours that If-None-Match names, by weak comparison; the first one for `*`. */
export function matchingTag(ifNoneMatch: string | undefined, tags: readonly string[]): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (tags.includes(ifNoneMatch)) return ifNoneMatch;
  if (ifNoneMatch.trim() === '*') return tags[0];
  const named = new Set(ifNoneMatch.match(/"[^"]*"/g));
  return tags.find((tag) => named.has(tag));
}
