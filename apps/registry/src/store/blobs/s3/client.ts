/**
 * Sends requests to a bucket: signed, with time limits, bounded retries, and a bound on concurrent requests. The server
 * is not trusted: redirects are not followed, documents have a maximum size, and its texts are escaped in messages.
 */

import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { AwsV4Signer } from 'aws4fetch';
import type { CredentialSource } from './credentials.js';
import { S3_LIMITS } from './limits.js';
import type { S3Place } from './place.js';
import { S3Error } from './s3-error.js';
import { Slots } from './slots.js';
import { elementText } from './xml.js';

/** Counts a request: `outcome` is the status, or `failed` for one without a response. */
export type CountRequest = (operation: S3Operation, outcome: string) => void;

export type S3Operation =
  | 'get'
  | 'head'
  | 'put'
  | 'delete'
  | 'list'
  | 'multipart-create'
  | 'multipart-part'
  | 'multipart-complete'
  | 'multipart-abort'
  | 'multipart-list';

export interface S3Request {
  operation: S3Operation;
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Object name, below the prefix; absent for the bucket. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Hexadecimal SHA-256 of the body, if the caller has it. */
  bodyHash?: string;
  /** Absent for `maxAttempts`. */
  attempts?: number;
  /** Time that the store needs for the request itself; absent for 0. */
  workMilliseconds?: number;
  /** Time after which the request is not sent any more; absent for `requestMilliseconds`. */
  maxMilliseconds?: number;
}

const EMPTY_HASH = createHash('sha256').digest('hex');

export interface S3Connection {
  place: S3Place;
  credentials: CredentialSource;
  count?: CountRequest;
}

export class S3Client {
  readonly place: S3Place;
  readonly #credentials: CredentialSource;
  readonly #count: CountRequest;
  readonly #slots = new Slots(S3_LIMITS.maxRequests);
  /** Signing keys of a day. */
  readonly #keys = new Map<string, ArrayBuffer>();

  constructor({ place, credentials, count = () => undefined }: S3Connection) {
    this.place = place;
    this.#credentials = credentials;
    this.#count = count;
  }

  /**
   * Returns a response with a status below 300, or 404 or 412 that the caller handles. Rejects with an S3Error. The
   * caller reads or cancels the body.
   */
  async send(request: S3Request): Promise<Response> {
    const { body, attempts = S3_LIMITS.maxAttempts, workMilliseconds = 0 } = request;
    const { maxMilliseconds = S3_LIMITS.requestMilliseconds } = request;
    const sending = workMilliseconds + (body?.byteLength ?? 0) / S3_LIMITS.minSendRate;
    const deadline = performance.now() + maxMilliseconds + sending;
    // The monotonic clock can stop while a machine is suspended.
    const deadlineTime = Date.now() + maxMilliseconds + sending;
    const isLate = () => performance.now() >= deadline || Date.now() >= deadlineTime;
    for (let attempt = 1; ; attempt++) {
      const left = deadline - performance.now();
      const milliseconds = Math.min(left, S3_LIMITS.responseMilliseconds + sending);
      const error = await this.#attempt(request, { milliseconds, isLate });
      if (!(error instanceof S3Error)) return error;
      const delay = S3_LIMITS.minRetryMilliseconds * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
      const isLast = attempt >= attempts || performance.now() + delay >= deadline;
      if (!error.isTemporary || isLast) {
        error.isFinal = true;
        throw error;
      }
      await wait(delay);
    }
  }

  /** As `send`, and returns the text of the response. */
  async document(request: S3Request): Promise<{ status: number; text: string }> {
    const { attempts = S3_LIMITS.maxAttempts } = request;
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.send(request);
        return { status: response.status, text: await readDocument(response) };
      } catch (error) {
        if (error instanceof KrmhubError) throw error;
        const failure = S3Error.of(error);
        // A response that breaks off.
        if (!failure.isTemporary || attempt >= attempts) throw failure;
      }
    }
  }

  /** Returns a URL with which anyone can send this GET for `presignedSeconds`. */
  async presign(key: string, query: Record<string, string>): Promise<string> {
    const parameters = { ...query, 'X-Amz-Expires': String(S3_LIMITS.presignedSeconds) };
    const signer = await this.#signer({ method: 'GET', key, query: parameters }, true);
    const signed = await signer.sign();
    return signed.url.href;
  }

  async #attempt(
    request: S3Request,
    { milliseconds, isLate }: { milliseconds: number; isLate: () => boolean },
  ): Promise<Response | S3Error> {
    const { operation, method } = request;
    const release = await this.#slots.take();
    if (isLate()) {
      release();
      return S3Error.of(new Error('the request waited too long to be sent'));
    }
    const stop = new AbortController();
    const timer = setTimeout(
      () => stop.abort(new Error(`no response within ${Math.round(milliseconds)} ms`)),
      Math.max(milliseconds, 1),
    );
    try {
      const signed = await (await this.#signer(request, false)).sign();
      const response = await fetch(signed.url, {
        method,
        headers: signed.headers,
        // A view of ours is never shared with another thread.
        ...defined({
          body: request.body === undefined ? undefined : (request.body as Uint8Array<ArrayBuffer>),
        }),
        redirect: 'manual',
        signal: stop.signal,
      });
      this.#count(operation, String(response.status));
      if (response.status < 300) return response;
      const text = method === 'HEAD' ? '' : await readDocument(response);
      const code = elementText(text, 'Code');
      const isExpected = response.status === 404 ? code !== 'NoSuchBucket' : response.status === 412;
      if (isExpected) return new Response(text, { status: response.status, headers: response.headers });
      return S3Error.ofResponse(response, text);
    } catch (error) {
      // No credentials: a retry does not help, and their source says why.
      if (error instanceof KrmhubError) throw error;
      this.#count(operation, 'failed');
      return S3Error.of(stop.signal.aborted ? stop.signal.reason : error);
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  async #signer(
    request: Pick<S3Request, 'method' | 'key' | 'query' | 'headers' | 'body' | 'bodyHash'>,
    inUrl: boolean,
  ) {
    const { method, key, query = {}, headers = {}, body, bodyHash } = request;
    const { bucketUrl, region } = this.place;
    const url = new URL(key === undefined ? bucketUrl : `${bucketUrl}/${this.keyOf(key)}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const hash =
      bodyHash ?? (body === undefined ? EMPTY_HASH : createHash('sha256').update(body).digest('hex'));
    const { accessKeyId, secretAccessKey, sessionToken } = await this.#credentials();
    return new AwsV4Signer({
      accessKeyId,
      secretAccessKey,
      ...defined({ sessionToken }),
      method,
      url: url.href,
      headers: inUrl ? headers : { ...headers, 'X-Amz-Content-Sha256': hash },
      service: 's3',
      region,
      cache: this.#keys,
      signQuery: inUrl,
    });
  }

  /** Returns the full name of an object. */
  keyOf(key: string): string {
    return this.place.prefix === '' ? key : `${this.place.prefix}/${key}`;
  }
}

/** Reads the text of a response that is not a blob. */
async function readDocument(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of readPieces(response)) {
    size += piece.byteLength;
    if (size > S3_LIMITS.maxDocumentBytes) throw new S3Error('the response is too large', { status: 502 });
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Yields the body of a response, and rejects with an S3Error if it breaks off or stalls. */
export async function* readPieces(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) {
        isDone = true;
        return;
      }
      yield value;
    }
  } catch (error) {
    throw S3Error.of(error);
  } finally {
    if (!isDone) void reader.cancel().catch(() => undefined);
  }
}

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const milliseconds = S3_LIMITS.idleMilliseconds;
    timer = setTimeout(() => reject(new Error(`no bytes for ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
