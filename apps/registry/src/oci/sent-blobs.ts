import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { OpenableBlobs, OpenBlob } from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { type ByteRange, OCI_API_VERSION, parseOciPath, readRange } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import type { RequestLog } from '../http/auth/request-log.js';
import type { TrustedProxySettings } from '../http/client-address.js';
import { clientAddress, readTrustedProxies } from '../http/client-address.js';
import type { PublicAddress } from '../http/public-address.js';
import { readableChecks } from '../http/reader-checks.js';
import { chooseRequestId, commonHeaders, READ_HEADERS } from '../http/response-headers.js';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics.js';
import { blobHeaders, isStored } from './blobs.js';
import { OCI_TEMPLATES } from './templates.js';

interface Deps {
  store: ManifestReader;
  artifacts: OpenableBlobs;
  metrics: Metrics;
  log: Log;
  requestLog: RequestLog;
  config: PublicAddress & TrustedProxySettings;
}

const BLOB = /^\/v2(\/[^?]+\/blobs\/sha(?:256|512):[^/?]+)$/;
/** Minimum size in bytes of a blob that this file sends. */
const MIN_BYTES = 65_536;
/** Bytes that are read and sent at a time. Larger pieces would leave the processor's cache. */
const PIECE_BYTES = 524_288;
/** Concurrent responses with a large buffer. Beyond this number clients are slow, and get small buffers. */
const MAX_BIG = 64;
const SMALL_PIECE_BYTES = 32_768;
/** Buffers that are retained for later responses. */
const MAX_FREE = 16;

/**
 * Responds to GETs of large blobs on the bare HTTP server, with one buffer for each, because allocating and
 * copying pieces costs as much as everything else. All other requests go to the routes, which respond the
 * same way.
 */
export function sentBlobs(deps: Deps, routes: RequestListener): RequestListener {
  const { log, requestLog, metrics, config } = deps;
  const { proxies } = readTrustedProxies(config.trustedProxies ?? []);
  const common = { ...commonHeaders(config.publicUrl), ...READ_HEADERS, ...OCI_API_VERSION };
  const free: Buffer[] = [];
  let big = 0;

  const send = async (request: IncomingMessage, response: ServerResponse, found: Found): Promise<void> => {
    const { url, digest, range, open } = found;
    const check = readableChecks(found.isReadable);
    const started = performance.now();
    const requestId = chooseRequestId(request.headers['x-request-id'] as string | undefined);
    const { start, end } = range ?? { start: 0, end: open.size };
    const status = range === undefined ? 200 : 206;
    const isBig = open.isRemote === undefined && big < MAX_BIG;
    const buffer = isBig
      ? (free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES))
      : Buffer.allocUnsafeSlow(SMALL_PIECE_BYTES);
    if (isBig) big += 1;
    try {
      response.writeHead(status, {
        ...common,
        ...blobHeaders(digest),
        'Content-Length': String(end - start),
        ...defined({
          'Content-Range': range !== undefined ? `bytes ${start}-${end - 1}/${open.size}` : undefined,
        }),
        'X-Request-Id': requestId,
      });
      if (open.isRemote) {
        for await (const piece of open.read(start, end)) {
          await check();
          await written(response, piece);
        }
      } else await sendRange(response, open, { start, end }, { buffer, check });
      response.end();
      // An aborted response may still be sending from its buffer.
      if (isBig && free.length < MAX_FREE) free.push(buffer);
    } finally {
      if (isBig) big -= 1;
      await open.close();
      const seconds = (performance.now() - started) / 1000;
      metrics.request('GET', OCI_TEMPLATES.blob, status, seconds);
      const client = clientAddress(request, proxies);
      const route = OCI_TEMPLATES.blob;
      requestLog.write('info', { requestId, client, method: 'GET', route, path: url, status, seconds });
    }
  };

  return (request, response) => {
    const path = request.method === 'GET' ? BLOB.exec(request.url ?? '')?.[1] : undefined;
    if (path === undefined) return routes(request, response);
    // The routes respond if the blob is missing or the store fails.
    findBlob(deps, request, path)
      .catch(() => undefined)
      .then((found) => (found === undefined ? routes(request, response) : send(request, response, found)))
      .catch((error) => {
        if (response.destroyed) return;
        log.error({ err: error }, 'cannot write a response');
        response.destroy();
      });
  };
}

interface Found {
  url: string;
  digest: string;
  range: ByteRange | undefined;
  open: OpenBlob;
  /** Whether everybody may still read it. */
  isReadable(): Promise<boolean>;
}

/**
 * Returns undefined for what the routes serve: small blobs, conditional requests, blobs of releases and
 * catalogs, and invalid requests.
 */
async function findBlob(
  { store, artifacts }: Deps,
  { headers, url = '' }: IncomingMessage,
  path: string,
): Promise<Found | undefined> {
  if (headers['if-none-match'] !== undefined || headers['if-range'] !== undefined) return undefined;
  // The routes redirect to the store.
  if (artifacts.locate !== undefined) return undefined;
  const route = parseOciPath(path);
  if (route?.what !== 'blob') return undefined;
  const row = await store.blob(route.repository, route.digest);
  if (row === undefined || row.place !== 'artifacts' || row.size < MIN_BYTES) return undefined;
  const range = readRange(headers.range, row.size);
  if (range === 'unsatisfiable') return undefined;
  const open = await artifacts.open(row.file);
  const isReadable = () => isStored(store, route);
  if (open?.size === row.size) return { url, digest: route.digest, range, open, isReadable };
  await open?.close();
  return undefined;
}

/**
 * Sends a range piece by piece through one buffer. Rejects if the file ends early or the client disconnects.
 */
async function sendRange(
  response: ServerResponse,
  open: OpenBlob,
  { start, end }: ByteRange,
  { buffer, check }: { buffer: Buffer; check: () => Promise<void> },
): Promise<void> {
  for (let at = start; at < end; ) {
    await check();
    const read = await open.readInto(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    if (read === 0) throw new Error(`the blob ends after ${at} bytes, expected ${end}`);
    await written(response, buffer.subarray(0, read));
    at += read;
  }
}

/** Resolves when the buffer is free for the next piece. */
function written(response: ServerResponse, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    if (response.destroyed) return reject(new Error('the connection is closed'));
    const closed = () => reject(new Error('the connection is closed'));
    response.once('close', closed);
    response.write(piece, (error) => {
      response.off('close', closed);
      if (error) reject(error);
      else resolve();
    });
  });
}
