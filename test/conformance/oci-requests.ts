import { createHash, randomBytes } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/**
 * Sends requests of distribution-spec as the conformance suite does, over a real socket and without
 * additions.
 */

export type Algorithm = 'sha256' | 'sha512';
export const ALGORITHMS: readonly Algorithm[] = ['sha256', 'sha512'];
export const OCTETS = { 'Content-Type': 'application/octet-stream' };

export interface OciResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Sent {
  headers?: Record<string, string | string[]>;
  body?: Uint8Array;
  /** With Transfer-Encoding and without Content-Length, even without a byte to send. */
  chunked?: boolean;
}

export class OciRequests {
  url: string;
  authorization: string | undefined;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: string, authorization?: string) {
    this.url = url;
    this.authorization = authorization;
  }

  /** The same registry, with other credentials. */
  as(authorization: string | undefined): OciRequests {
    return new OciRequests(this.url, authorization);
  }

  send(
    method: string,
    target: string,
    { headers = {}, body, chunked = false }: Sent = {},
  ): Promise<OciResponse> {
    const { hostname, port } = new URL(this.url);
    const carries = method === 'POST' || method === 'PUT' || method === 'PATCH';
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent: this.#agent,
        host: hostname,
        port,
        method,
        path: target,
        headers: {
          ...(this.authorization !== undefined && { Authorization: this.authorization }),
          ...(chunked
            ? { 'Transfer-Encoding': 'chunked' }
            : carries && { 'Content-Length': String(body?.byteLength ?? 0) }),
          ...headers,
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const pieces: Buffer[] = [];
        incoming.on('data', (piece) => pieces.push(piece));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode!, headers: incoming.headers, body: Buffer.concat(pieces) }),
        );
      });
      outgoing.end(body?.byteLength ? body : undefined);
    });
  }

  /** Like clients written in Go, which treat a compressed response as one without a length. */
  get(target: string, headers: Sent['headers'] = {}): Promise<OciResponse> {
    return this.send('GET', target, { headers: { 'Accept-Encoding': 'gzip', ...headers } });
  }

  head(target: string, headers: Sent['headers'] = {}): Promise<OciResponse> {
    return this.send('HEAD', target, { headers });
  }

  delete(target: string): Promise<OciResponse> {
    return this.send('DELETE', target);
  }

  /** Path and query of the Location of a response, whether absolute or relative. */
  location({ headers }: OciResponse): string {
    expect(headers.location).toBeTruthy();
    const { pathname, search } = new URL(headers.location!, this.url);
    return pathname + search;
  }

  /** Starts an upload; returns its location. */
  async session(repository: string): Promise<string> {
    const answer = await this.send('POST', uploads(repository));
    expect(answer.status).toBe(202);
    return this.location(answer);
  }

  patch(
    place: string,
    bytes: Uint8Array,
    from: number,
    last = from + bytes.byteLength - 1,
  ): Promise<OciResponse> {
    return this.send('PATCH', place, { headers: { ...OCTETS, ...contentRange(from, last) }, body: bytes });
  }

  async pushBlob(repository: string, bytes: Uint8Array, digest = digestOf(bytes)): Promise<string> {
    const place = withQuery(await this.session(repository), { digest });
    const answer = await this.send('PUT', place, {
      headers: OCTETS,
      body: bytes,
      chunked: !bytes.byteLength,
    });
    expect(answer.status).toBe(201);
    return digest;
  }

  /** Without Content-Length, like Go with a manifest. */
  putManifest(
    repository: string,
    reference: string,
    { bytes, mediaType }: { bytes: Uint8Array; mediaType: string },
  ): Promise<OciResponse> {
    const headers = { 'Content-Type': mediaType };
    return this.send('PUT', manifests(repository, reference), { headers, body: bytes, chunked: true });
  }
}

/** Of a chunk: without a unit, and both ends included. */
export function contentRange(from: number, last: number): Record<string, string> {
  return { 'Content-Range': `${from}-${last}` };
}

/**
 * Sends requests to a registry that runs during the tests of the file; the credentials are the administrator's token as
 * password.
 */
export function conformanceRegistry(): OciRequests & { token: string } {
  const requests = Object.assign(new OciRequests(''), { token: '' });
  const { folder, remove } = temporaryFolder();
  let registry: RunningRegistry | undefined;
  beforeAll(async () => {
    registry = await startRegistry(path.join(folder, 'data'));
    const { url, token } = registry;
    Object.assign(requests, { url, token, authorization: basic('conformance', token) });
  });
  afterAll(async () => {
    await registry?.stop();
    remove();
  });
  return requests;
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

let made = 0;
/** A name that no other test of the file has. */
export function newRepository(): string {
  made += 1;
  return `conformance/repository-${made}`;
}

export const uploads = (repository: string): string => `/v2/${repository}/blobs/uploads/`;
export const blob = (repository: string, digest: string): string => `/v2/${repository}/blobs/${digest}`;
export const manifests = (repository: string, reference: string): string =>
  `/v2/${repository}/manifests/${reference}`;
export const tagsList = (repository: string): string => `/v2/${repository}/tags/list`;
export const referrers = (repository: string, digest: string): string =>
  `/v2/${repository}/referrers/${digest}`;

/** Adds parameters to the query of a location. */
export function withQuery(target: string, added: Record<string, string | string[]>): string {
  const url = new URL(target, 'http://localhost');
  for (const [name, values] of Object.entries(added)) {
    for (const value of [values].flat()) url.searchParams.append(name, value);
  }
  return url.pathname + url.search;
}

export function digestOf(bytes: Uint8Array, algorithm: Algorithm = 'sha256'): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
}

export function someBytes(size: number): Buffer {
  return randomBytes(size);
}

export function json({ body }: OciResponse): Record<string, unknown> {
  return JSON.parse(body.toString());
}

/** The code of the first error of a refusal in the distribution-spec format. */
export function errorCode(answer: OciResponse): string {
  expect(answer.headers['content-type']).toBe('application/json');
  const { errors } = json(answer) as { errors: { code: string; message: string }[] };
  expect(errors[0]!.message).toBeTruthy();
  return errors[0]!.code;
}
