import { createHash } from 'node:crypto';
import { defined } from '@krmhub/schema/defined';
import { readPieces, type S3Client } from './client.js';
import { S3_LIMITS } from './limits.js';
import { S3Error } from './s3-error.js';
import { elementText, elementTexts, escapeXml } from './xml.js';

export interface S3Object {
  /** Name below the prefix. */
  key: string;
  /** Bytes. */
  size: number;
  written: Date;
}

export interface S3Upload {
  key: string;
  id: string;
  started: Date;
}

/** A part of a multipart upload that the store has. */
export interface S3Part {
  number: number;
  etag: string;
  /** SHA-256 of its bytes, in base64. */
  checksum: string;
}

/** Whether an object was created, or existed before. */
export type Created = 'created' | 'exists';

/** Creates an object whose bytes the store verifies; `replace` also replaces an existing one. */
export async function putObject(
  client: S3Client,
  key: string,
  body: Uint8Array,
  {
    hash = hashBytes(body),
    replace = false,
    attempts,
  }: { hash?: Buffer; replace?: boolean; attempts?: number } = {},
): Promise<Created> {
  const response = await client.send({
    operation: 'put',
    method: 'PUT',
    key,
    body,
    bodyHash: hash.toString('hex'),
    headers: {
      'x-amz-checksum-sha256': hash.toString('base64'),
      ...defined({ 'If-None-Match': replace ? undefined : '*' }),
    },
    ...defined({ attempts }),
  });
  return createdBy(response.status);
}

function createdBy(status: number): Created {
  if (status === 412) return 'exists';
  if (status === 404) throw new S3Error('HTTP status 404', { status });
  return 'created';
}

/** Returns the size of an object; undefined if it does not exist. */
export async function headObject(client: S3Client, key: string): Promise<number | undefined> {
  const response = await client.send({ operation: 'head', method: 'HEAD', key });
  if (response.status !== 404) return contentLength(response);
  // A response to HEAD has no code that distinguishes a missing object from a missing bucket.
  const found = await getObject(client, key, { start: 0, end: 1 });
  if (found === undefined) return undefined;
  await found.cancel();
  return found.size;
}

export interface ObjectBody {
  /** Size of the whole object. */
  size: number;
  pieces: AsyncGenerator<Uint8Array>;
  cancel(): Promise<void>;
}

/** Starts to read an object or a range of it; `end` is exclusive. Returns undefined if it does not exist. */
export async function getObject(
  client: S3Client,
  key: string,
  range?: { start: number; end: number },
): Promise<ObjectBody | undefined> {
  const headers = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` };
  const response = await client.send({ operation: 'get', method: 'GET', key, headers });
  if (response.status === 404) return undefined;
  const cancel = async () => response.body?.cancel().catch(() => undefined);
  const isPart = response.status === 206;
  const size = isPart ? totalLength(response.headers.get('content-range'), range) : contentLength(response);
  if (size === undefined || (range !== undefined && !isPart)) {
    await cancel();
    throw new S3Error('the response has no valid size or range', { status: 502 });
  }
  return { size, pieces: readPieces(response), cancel };
}

function contentLength(response: Response): number | undefined {
  const text = response.headers.get('content-length');
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function totalLength(header: string | null, range?: { start: number; end: number }): number | undefined {
  const parts = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(header ?? '');
  if (parts === null || Number(parts[1]) !== range?.start) return undefined;
  return Number(parts[3]);
}

/** Deletes an object. Deleting a missing one is not an error. */
export async function deleteObject(client: S3Client, key: string): Promise<void> {
  const maxMilliseconds = S3_LIMITS.deleteMilliseconds;
  await client.send({ operation: 'delete', method: 'DELETE', key, maxMilliseconds });
}

/** Lists the objects whose names start with `start`. */
export async function* listObjects(client: S3Client, start: string): AsyncGenerator<S3Object> {
  let token: string | undefined;
  for (let page = 0; page < S3_LIMITS.maxListPages; page++) {
    const text = await listing(client, 'list', {
      'list-type': '2',
      prefix: client.keyOf(start),
      ...defined({ 'continuation-token': token }),
    });
    for (const one of elementTexts(text, 'Contents')) {
      const key = belowPrefix(client, elementText(one, 'Key'));
      const size = Number(elementText(one, 'Size'));
      if (key === undefined) continue;
      yield {
        key,
        size: Number.isSafeInteger(size) ? size : 0,
        written: parseTime(elementText(one, 'LastModified')),
      };
    }
    const next = elementText(text, 'NextContinuationToken');
    if (elementText(text, 'IsTruncated') !== 'true') return;
    if (next === undefined || next === token)
      throw new S3Error('the list does not continue', { status: 502 });
    token = next;
  }
  throw new S3Error('the list does not end', { status: 502 });
}

/** Lists the multipart uploads that were not completed, up to 1,000. */
export async function listUploads(client: S3Client, start: string): Promise<S3Upload[]> {
  const text = await listing(client, 'multipart-list', { uploads: '', prefix: client.keyOf(start) });
  return elementTexts(text, 'Upload').flatMap((one) => {
    const key = belowPrefix(client, elementText(one, 'Key'));
    const id = elementText(one, 'UploadId');
    return key === undefined || id === undefined
      ? []
      : [{ key, id, started: parseTime(elementText(one, 'Initiated')) }];
  });
}

async function listing(
  client: S3Client,
  operation: 'list' | 'multipart-list',
  query: Record<string, string>,
): Promise<string> {
  const { status, text } = await client.document({ operation, method: 'GET', query });
  if (status !== 200 || !text.includes('Result'))
    throw new S3Error('the response is not a list', { status: 502 });
  return text;
}

function belowPrefix({ place }: S3Client, key: string | undefined): string | undefined {
  const start = place.prefix === '' ? '' : `${place.prefix}/`;
  return key?.startsWith(start) ? key.slice(start.length) : undefined;
}

function parseTime(text: string | undefined): Date {
  const time = Date.parse(text ?? '');
  return new Date(Number.isNaN(time) ? 0 : time);
}

/** Starts a multipart upload and returns its ID. */
export async function createUpload(client: S3Client, key: string): Promise<string> {
  const { text } = await client.document({
    operation: 'multipart-create',
    method: 'POST',
    key,
    query: { uploads: '' },
    headers: { 'x-amz-checksum-algorithm': 'SHA256' },
  });
  const id = elementText(text, 'UploadId');
  if (id === undefined || id === '') throw new S3Error('the multipart upload has no ID', { status: 502 });
  return id;
}

/** Sends a part, whose bytes the store verifies. */
export async function uploadPart(
  client: S3Client,
  { key, id }: { key: string; id: string },
  number: number,
  body: Uint8Array,
): Promise<S3Part> {
  const hash = hashBytes(body);
  const checksum = hash.toString('base64');
  const response = await client.send({
    operation: 'multipart-part',
    method: 'PUT',
    key,
    query: { partNumber: String(number), uploadId: id },
    body,
    bodyHash: hash.toString('hex'),
    headers: { 'x-amz-checksum-sha256': checksum },
  });
  const etag = response.headers.get('etag');
  if (response.status !== 200 || etag === null) {
    throw new S3Error('the store did not confirm a part of a multipart upload', { status: 502 });
  }
  return { number, etag, checksum };
}

/** Makes the parts one object. */
export async function completeUpload(
  client: S3Client,
  { key, id }: { key: string; id: string },
  parts: readonly S3Part[],
  replace: boolean,
): Promise<Created | 'lost'> {
  const list = parts.map(
    ({ number, etag, checksum }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag><ChecksumSHA256>${checksum}</ChecksumSHA256></Part>`,
  );
  const { status, text } = await client.document({
    operation: 'multipart-complete',
    method: 'POST',
    key,
    query: { uploadId: id },
    headers: replace ? {} : { 'If-None-Match': '*' },
    workMilliseconds: (parts.length * S3_LIMITS.partBytes) / S3_LIMITS.minJoinRate,
    body: Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`),
  });
  // An earlier attempt may have completed it, and its response was lost.
  if (status === 404) return 'lost';
  // The store may send the status before it knows the outcome.
  if (status === 200 && !text.includes('CompleteMultipartUploadResult')) {
    const code = elementText(text, 'Code');
    throw new S3Error('the store did not complete the multipart upload', { status: 502, code });
  }
  return createdBy(status);
}

/** Ends a multipart upload without an object. */
export async function abortUpload(client: S3Client, { key, id }: { key: string; id: string }): Promise<void> {
  await client.send({ operation: 'multipart-abort', method: 'DELETE', key, query: { uploadId: id } });
}

export function hashBytes(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
