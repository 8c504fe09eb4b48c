import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { CODINGS, type Coding, negotiateCoding } from './content-coding.js';

/** The tag of bytes that are not hashed for each response: a hash of everything that they are derived from. */
export type DerivedTag = `derived:${string}`;

/** Bytes that a digest identifies, and how to serve them. */
export interface ServedDocument<Tag extends Digest | DerivedTag = Digest> {
  /** Digest of the uncompressed bytes, for the ETag; for derived bytes, their tag. */
  digest: Tag;
  mediaType: string;
  cacheControl: string;
  headers?: Record<string, string>;
  /** The document may exist in several codings; default is only identity. */
  coded?: boolean;
  /** The codings in which it exists, in order of preference. Absent for all of them. */
  codings?: readonly Coding[];
}

/**
 * Status and header fields of a response, without those that every response has. The same decision is the same
 * object.
 */
export interface ResponseHead {
  status: 200 | 304;
  headers: Readonly<Record<string, string>>;
  /** Cache of the bare server: names and values in turn; the last one is the ID of the request. */
  fields?: string[];
}

/**
 * Decides the response to GET and HEAD of a document for requests that accept the same codings: ETag, If-None-Match,
 * Accept-Encoding (RFC 9110). The routes of the framework and the bare server both use it.
 */
export class NegotiatedDocument {
  /** The preferred coding of the bytes. */
  readonly coding: Coding;
  readonly #document: ServedDocument<Digest | DerivedTag>;
  /** The preferred coding is first. */
  readonly #tags: readonly string[];
  readonly #common: Readonly<Record<string, string>>;
  readonly #notModified = new Map<string, ResponseHead>();
  #ok: { coding: Coding; size: number; head: ResponseHead } | undefined;

  constructor(document: ServedDocument<Digest | DerivedTag>, acceptEncoding: string | undefined) {
    const { digest, cacheControl, coded = false, codings, headers = {} } = document;
    this.#document = document;
    this.coding = coded ? negotiateCoding(acceptEncoding, codings) : 'identity';
    this.#tags = (coded ? [this.coding, ...CODINGS] : [this.coding]).map((one) => entityTag(digest, one));
    this.#common = {
      ...headers,
      'Cache-Control': cacheControl,
      ...defined({ Vary: coded ? variesBy(headers) : undefined }),
    };
  }

  /** Returns the 304 if the client has the document in any coding. No bytes are needed for it. */
  notModified(ifNoneMatch: string | undefined): ResponseHead | undefined {
    const matched = matchingTag(ifNoneMatch, this.#tags);
    if (matched === undefined) return undefined;
    let head = this.#notModified.get(matched);
    if (head === undefined) {
      head = { status: 304, headers: { ...this.#common, ETag: matched } };
      this.#notModified.set(matched, head);
    }
    return head;
  }

  /**
   * Returns the 200 for bytes of this size, which are in the preferred coding, or uncompressed if they do not exist
   * in it.
   */
  ok(coding: Coding, size: number): ResponseHead {
    if (this.#ok?.coding !== coding || this.#ok.size !== size) {
      const { digest, mediaType } = this.#document;
      const headers = {
        ...this.#common,
        ETag: entityTag(digest, coding),
        'Content-Type': mediaType,
        ...defined({ 'Content-Encoding': coding !== 'identity' ? coding : undefined }),
        'Content-Length': String(size),
      };
      this.#ok = { coding, size, head: { status: 200, headers } };
    }
    return this.#ok.head;
  }
}

/** RFC 9110: different bytes need different tags, so the tag of a coding has a suffix. */
function entityTag(digest: Digest | DerivedTag, coding: Coding): string {
  return coding === 'identity' ? `"${digest}"` : `"${digest}-${coding}"`;
}

/** Returns the tag of `tags` that If-None-Match names, by weak comparison; the first one for `*`. */
export function matchingTag(ifNoneMatch: string | undefined, tags: readonly string[]): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (tags.includes(ifNoneMatch)) return ifNoneMatch;
  if (ifNoneMatch.trim() === '*') return tags[0];
  const named = new Set(ifNoneMatch.match(/"[^"]*"/g));
  return tags.find((tag) => named.has(tag));
}

function variesBy({ Vary }: Readonly<Record<string, string>>): string {
  return Vary === undefined ? 'Accept-Encoding' : `${Vary}, Accept-Encoding`;
}
