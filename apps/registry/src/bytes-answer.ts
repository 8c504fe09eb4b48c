import type { Digest } from '@krmhub/schema';
import { CODINGS, type Coding, negotiateCoding } from './content-coding.js';
import type { RegistryContext } from './environment.js';

export const CACHE_FOREVER = 'public, max-age=31536000, immutable';
/** A cache asks each time, and mostly gets a 304. */
export const CACHE_ASKING = 'no-cache';

export interface BytesAnswer {
  /** Of the bytes as they are without a coding: the ETag. */
  digest: Digest;
  mediaType: string;
  cacheControl: string;
  /** Codings to choose from; only identity where it is absent. */
  coded?: boolean;
  headers?: Record<string, string>;
  /** Not called for a HEAD or a 304. Must give the bytes in the coding. */
  bytes(coding: Coding): Promise<Uint8Array> | Uint8Array;
  /** Bytes in the coding where that is known without reading them. */
  length?(coding: Coding): number | undefined;
}

/** Answers GET and HEAD with bytes that a digest names: ETag, If-None-Match and Accept-Encoding (RFC 9110). */
export async function bytesAnswer(c: RegistryContext, answer: BytesAnswer): Promise<Response> {
  const { digest, mediaType, cacheControl, coded = false, headers: others = {} } = answer;
  const coding = coded ? negotiateCoding(c.req.header('accept-encoding')) : 'identity';
  const headers = new Headers({ ...others, ETag: entityTag(digest, coding), 'Cache-Control': cacheControl });
  if (coded) headers.set('Vary', 'Accept-Encoding');
  const matched = matchingTag(
    c.req.header('if-none-match'),
    coded ? codedTags(digest, coding) : [entityTag(digest, coding)],
  );
  if (matched !== undefined) {
    headers.set('ETag', matched);
    return new Response(null, { status: 304, headers });
  }
  headers.set('Content-Type', mediaType);
  if (coding !== 'identity') headers.set('Content-Encoding', coding);
  // The framework dispatches HEAD as GET, and drops the body only when it has been made.
  if (c.req.method === 'HEAD') {
    const length = answer.length?.(coding);
    if (length !== undefined) headers.set('Content-Length', String(length));
    return new Response(null, { headers });
  }
  const bytes = await answer.bytes(coding);
  headers.set('Content-Length', String(bytes.byteLength));
  return new Response(bytes as Uint8Array<ArrayBuffer>, { headers });
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
