import type { Digest } from '@krmhub/schema';
import { CODINGS, type Coding, negotiateCoding } from './content-coding.js';

/** Bytes that a digest names, and how they are served. */
export interface ServedDocument {
  /** Of the bytes as they are without a coding: the ETag. */
  digest: Digest;
  mediaType: string;
  cacheControl: string;
  headers?: Record<string, string>;
  /** Whether there may be codings to choose from; only identity else. */
  coded?: boolean;
}

/** Status and header fields of a response, less those that every response has. The same decision is the same object. */
export interface ResponseHead {
  status: 200 | 304;
  headers: Readonly<Record<string, string>>;
  /** For the bare server, which keeps here what it writes: names and values in turn, the last is the request's id. */
  fields?: string[];
}

/**
 * Decides how GET and HEAD of a document are answered where requests accept the same codings: ETag, If-None-Match,
 * Accept-Encoding (RFC 9110). The framework's routes and the bare server write out what this decides.
 */
export class NegotiatedDocument {
  /** The coding in which the bytes are wanted. */
  readonly coding: Coding;
  readonly #document: ServedDocument;
  /** In the wanted coding first. */
  readonly #tags: readonly string[];
  readonly #common: Readonly<Record<string, string>>;
  readonly #notModified = new Map<string, ResponseHead>();
  #ok: { coding: Coding; size: number; head: ResponseHead } | undefined;

  constructor(document: ServedDocument, acceptEncoding: string | undefined) {
    const { digest, cacheControl, coded = false, headers = {} } = document;
    this.#document = document;
    this.coding = coded ? negotiateCoding(acceptEncoding) : 'identity';
    this.#tags = (coded ? [this.coding, ...CODINGS] : [this.coding]).map((one) => entityTag(digest, one));
    this.#common = { ...headers, 'Cache-Control': cacheControl, ...(coded && { Vary: variesBy(headers) }) };
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

  /** Returns the 200 for so many bytes, which are in the wanted coding, or in none where there are none in that. */
  ok(coding: Coding, size: number): ResponseHead {
    if (this.#ok?.coding !== coding || this.#ok.size !== size) {
      const { digest, mediaType } = this.#document;
      const headers = {
        ...this.#common,
        ETag: entityTag(digest, coding),
        'Content-Type': mediaType,
        ...(coding !== 'identity' && { 'Content-Encoding': coding }),
        'Content-Length': String(size),
      };
      this.#ok = { coding, size, head: { status: 200, headers } };
    }
    return this.#ok.head;
  }
}

/** RFC 9110: other bytes need another tag, so a coding has its suffix. */
function entityTag(digest: Digest, coding: Coding): string {
  return coding === 'identity' ? `"${digest}"` : `"${digest}-${coding}"`;
}

/** The tag of ours that If-None-Match names, by weak comparison; the first one for `*`. */
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
