import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { computeDigest, type OciDigest, OciError } from '@krmhub/oci';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { type ClientRequest, readError, testClient, toBytes } from '../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { Uploads } from './uploads.js';

const REPOSITORY = 'team/tools';
/** Enough that an upload writes its file before its end. */
const MORE_THAN_MEMORY = 'x'.repeat(1_500_000);
let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry({ start: false });
});
afterEach(() => registry.close());

/** Path below `/v2/`. */
const readUploadPath = (response: Response) => response.headers.get('location')!.slice('/v2/'.length);

async function started(repository = REPOSITORY): Promise<string> {
  const response = await client.request('POST', `${repository}/blobs/uploads/`);
  expect([response.status, response.headers.get('range'), response.headers.get('content-length')]).toEqual([
    202,
    '0-0',
    '0',
  ]);
  expect(readUploadPath(response)).toBe(
    `${repository}/blobs/uploads/${response.headers.get('docker-upload-uuid')}`,
  );
  return readUploadPath(response);
}

const patch = (uploadPath: string, body: ClientRequest['body'], range?: string) =>
  client.request('PATCH', uploadPath, {
    ...(body === undefined ? {} : { body }),
    headers: {
      ...(range === undefined ? {} : { 'Content-Range': range }),
      ...(typeof body === 'string' ? { 'Content-Length': String(body.length) } : {}),
    },
  });
const finish = (uploadPath: string, digest: string, body?: string, range?: string) =>
  client.request('PUT', `${uploadPath}?digest=${digest}`, {
    ...(body === undefined ? {} : { body }),
    ...(range === undefined ? {} : { headers: { 'Content-Range': range } }),
  });
const uploadedRange = async (uploadPath: string) => {
  const response = await client.request('GET', uploadPath);
  expect([response.status, readUploadPath(response)]).toEqual([204, uploadPath]);
  return response.headers.get('range');
};
const read = async (digest: OciDigest, repository = REPOSITORY) => {
  const response = await client.request('GET', `${repository}/blobs/${digest}`, { authorization: '' });
  return response.status === 200 ? response.text() : response.status;
};

/** Stored files, and the number of unfinished ones. */
async function files(): Promise<{ kept: string[]; unfinished: number }> {
  const storedFiles: string[] = [];
  for await (const file of registry.parts.artifacts.list()) storedFiles.push(file);
  const unfinished = await readdir(path.join(registry.folder, 'artifacts', 'unfinished'));
  return { kept: storedFiles, unfinished: unfinished.length };
}

/** Bytes of the largest blob that is a row. */
const LARGEST_ROW = 'some bytes'.padEnd(SERVER_LIMITS.maxBlobRowBytes, '.');

describe('a blob', () => {
  it.each<[string, string, 'sha256' | 'sha512']>([
    ['of some bytes', 'some bytes', 'sha256'],
    ['of none', '', 'sha256'],
    ['by sha512', 'some bytes', 'sha512'],
    ['{} by sha512', '{}', 'sha512'],
    ['that is as large as a row can be', LARGEST_ROW, 'sha256'],
    ['that is too large for a row', `${LARGEST_ROW}.`, 'sha256'],
    ['that is too large for a row, by sha512,', `${LARGEST_ROW}.`, 'sha512'],
  ])('%s can be uploaded in one request, in two, or in chunks', async (_, text, algorithm) => {
    const digest = computeDigest(
      toBytes(text),
      algorithm === 'sha256' ? 'sha256' : `sha512:${'0'.repeat(128)}`,
    );
    const [one, two, three] = ['team/one', 'team/two', 'team/three'] as const;
    const responses = [
      await client.request('POST', `${one}/blobs/uploads/?digest=${digest}`, { body: text }),
      await finish(await started(two), digest, text),
    ];
    const uploadPath = await started(three);
    const length = Math.ceil(text.length / 10);
    for (let at = 0; at < text.length; at += length) {
      const part = text.slice(at, at + length);
      const last = at + part.length - 1;
      const chunk = await patch(uploadPath, part, `${at}-${last}`);
      expect([chunk.status, chunk.headers.get('range'), readUploadPath(chunk)]).toEqual([
        202,
        `0-${last}`,
        uploadPath,
      ]);
    }
    responses.push(await finish(uploadPath, digest));
    for (const [at, response] of responses.entries()) {
      const repository = [one, two, three][at]!;
      expect([response.status, readUploadPath(response)]).toEqual([201, `${repository}/blobs/${digest}`]);
      expect(response.headers.get('docker-content-digest')).toBe(digest);
      expect(await read(digest, repository)).toBe(text);
    }
    const file = sha256(text);
    const isRow = text.length <= SERVER_LIMITS.maxBlobRowBytes;
    expect(await files()).toEqual({ kept: isRow ? [] : [file], unfinished: 0 });
    expect(await registry.parts.store.rowBytes(file)).toEqual(isRow ? Buffer.from(text) : undefined);
    expect((registry.parts.uploads as Uploads).count).toBe(0);
  });

  it('is refused and not stored if its digest differs', async () => {
    const wrong = sha256('other');
    const uploadPath = await started();
    await patch(uploadPath, 'bytes');
    const responses = [
      await client.request('POST', `${REPOSITORY}/blobs/uploads/?digest=${wrong}`, { body: 'bytes' }),
      await finish(uploadPath, wrong),
      await finish(await started(), computeDigest(toBytes('other'), `sha512:${'0'.repeat(128)}`), 'bytes'),
    ];
    for (const response of responses) {
      const refused = await readError(response);
      expect([refused.status, refused.code]).toEqual([400, 'DIGEST_INVALID']);
    }
    const refused = await readError(await finish(await started(), wrong, 'bytes'));
    expect(refused.detail).toEqual({ digest: wrong, actual: sha256('bytes'), size: 5 });
    expect(await files()).toEqual({ kept: [], unfinished: 0 });
    expect((await client.request('GET', uploadPath)).status).toBe(404);
    expect(await read(wrong)).toBe(404);
  });

  it.each(['', '?digest=', '?digest=x', `?digest=sha256:${'A'.repeat(64)}`])(
    'without a digest starts an upload (%s)',
    async (query) => {
      const uploadPath = await started();
      await patch(uploadPath, 'bytes');
      const refused = await readError(await client.request('PUT', uploadPath + query));
      expect([refused.status, refused.code]).toEqual([400, 'DIGEST_INVALID']);
      expect(await uploadedRange(uploadPath)).toBe('0-4');
      expect((await finish(uploadPath, sha256('bytes'))).status).toBe(201);
    },
  );

  it('is mounted from another repository, or an upload starts', async () => {
    await client.blob('team/other', 'blob');
    const mount = (query: string) => client.request('POST', `${REPOSITORY}/blobs/uploads/?mount=${query}`);
    const unknown = await mount(`${sha256('unknown')}&from=team/other`);
    expect([
      unknown.status,
      (await finish(readUploadPath(unknown), sha256('unknown'), 'unknown')).status,
    ]).toEqual([202, 201]);
    expect((await mount(`${sha256('blob')}&from=team/third`)).status).toBe(202);
    const mounted = await mount(`${sha256('blob')}&from=team/other`);
    expect([mounted.status, readUploadPath(mounted)]).toEqual([201, `${REPOSITORY}/blobs/${sha256('blob')}`]);
    expect(await read(sha256('blob'))).toBe('blob');
    const anywhere = await client.request('POST', `team/fourth/blobs/uploads/?mount=${sha256('blob')}`);
    expect(anywhere.status).toBe(201);
    expect((await readError(await mount('x'))).code).toBe('DIGEST_INVALID');
    expect((await readError(await mount(`${sha256('blob')}&from=../x`))).code).toBe('NAME_INVALID');
  });
});

describe('an upload', () => {
  it('refuses any chunk but the next, and does not change', async () => {
    const uploadPath = await started();
    const wrong = async (response: Response, range: string) => {
      // The upload is empty. A client that reads `0-0` as one byte would retry from there forever.
      expect([response.headers.get('range'), readUploadPath(response)]).toEqual([
        range === '0-0' ? null : range,
        uploadPath,
      ]);
      const refused = await readError(response);
      expect([refused.status, refused.code]).toEqual([416, 'RANGE_INVALID']);
      expect(await uploadedRange(uploadPath)).toBe(range);
    };
    await wrong(await patch(uploadPath, '567', '5-7'), '0-0');
    await wrong(await finish(uploadPath, sha256('567'), '567', '5-7'), '0-0');
    await patch(uploadPath, '01234', '0-4');
    await wrong(await patch(uploadPath, '01234', '0-4'), '0-4');
    await wrong(await patch(uploadPath, '67', '6-7'), '0-4');
    await wrong(await finish(uploadPath, sha256('01234567'), '67', '6-7'), '0-4');
    for (const range of ['nonsense', '5-4', '-', '5-', `5-${'9'.repeat(30)}`, '5-5'])
      await wrong(await patch(uploadPath, '567', range), '0-4');
    expect((await finish(uploadPath, sha256('01234567'), '567', '5-7')).status).toBe(201);
  });

  it('belongs to one repository, and ends when it is finished or cancelled', async () => {
    const uploadPath = await started();
    const id = uploadPath.split('/').at(-1)!;
    const unknown = async (response: Response) =>
      expect(await readError(response)).toMatchObject({ status: 404, code: 'BLOB_UPLOAD_UNKNOWN' });
    const otherPath = `team/other/blobs/uploads/${id}`;
    for (const method of ['GET', 'PATCH', 'DELETE']) await unknown(await client.request(method, otherPath));
    await unknown(await finish(otherPath, sha256(''), ''));
    for (const other of ['x', 'X'.repeat(36), '../../x', id.toUpperCase(), crypto.randomUUID()])
      await unknown(await client.request('GET', `${REPOSITORY}/blobs/uploads/${encodeURIComponent(other)}`));
    expect((await client.request('DELETE', uploadPath)).status).toBe(204);
    for (const method of ['GET', 'PATCH', 'DELETE']) await unknown(await client.request(method, uploadPath));
    const finished = await started();
    await finish(finished, sha256('x'), 'x');
    await unknown(await finish(finished, sha256('x'), 'x'));
    expect(await files()).toEqual({ kept: [], unfinished: 0 });
    expect(await read(sha256('x'))).toBe('x');
  });

  it('retains the bytes that arrived if a chunk breaks off', async () => {
    const uploadPath = await started();
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        if (sent > 3) controller.error(new Error('the connection was reset'));
        else controller.enqueue(toBytes(`part ${sent};`));
      },
    });
    expect((await patch(uploadPath, body, '0-99')).status).toBe(400);
    expect(await uploadedRange(uploadPath)).toBe('0-20');
    expect((await patch(uploadPath, 'rest', '21-24')).status).toBe(202);
    const whole = 'part 1;part 2;part 3;rest';
    expect((await finish(uploadPath, sha256(whole))).status).toBe(201);
    expect(await read(sha256(whole))).toBe(whole);
  });

  it('ends if a stream breaks off, because no client continues it', async () => {
    const uploadPath = await started();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(toBytes('part'));
        controller.error(new Error('the connection was reset'));
      },
    });
    expect((await patch(uploadPath, body)).status).toBe(400);
    expect((await client.request('GET', uploadPath)).status).toBe(404);
    expect((await files()).unfinished).toBe(0);
  });

  it('accepts one request at a time, and reports its progress meanwhile', async () => {
    const uploadPath = await started();
    let send: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = controller;
        controller.enqueue(toBytes('first'));
      },
    });
    const first = patch(uploadPath, body);
    await expect.poll(() => uploadedRange(uploadPath)).toBe('0-4');
    const others = [
      await patch(uploadPath, 'x', '5-5'),
      await finish(uploadPath, sha256('first')),
      await client.request('DELETE', uploadPath),
    ];
    for (const other of others) {
      expect(await readError(other)).toMatchObject({ status: 409, code: 'BLOB_UPLOAD_INVALID' });
    }
    registry.advance(SERVER_LIMITS.uploadIdleMilliseconds * 2);
    expect(await registry.parts.uploads.expire()).toBe(0);
    send!.close();
    expect((await first).status).toBe(202);
    expect((await finish(uploadPath, sha256('first'))).status).toBe(201);
  });

  it('ends when it is idle, and not while it moves', async () => {
    const { uploadIdleMilliseconds } = SERVER_LIMITS;
    const [still, moved] = [await started(), await started()];
    registry.advance(uploadIdleMilliseconds - 5_000);
    expect(await registry.parts.uploads.expire()).toBe(0);
    await patch(moved, MORE_THAN_MEMORY);
    registry.advance(5_001);
    expect(await registry.parts.uploads.expire()).toBe(1);
    expect(await readError(await client.request('GET', still))).toMatchObject({
      code: 'BLOB_UPLOAD_UNKNOWN',
    });
    expect(await uploadedRange(moved)).toBe(`0-${MORE_THAN_MEMORY.length - 1}`);
    expect((await files()).unfinished).toBe(1);
    registry.advance(uploadIdleMilliseconds + 1);
    expect((await registry.parts.collector.collect()).uploads).toBe(1);
    expect(await files()).toEqual({ kept: [], unfinished: 0 });
  });

  it('ends at a restart, and leaves no file', async () => {
    const uploadPath = await started();
    await patch(uploadPath, MORE_THAN_MEMORY);
    expect((await files()).unfinished).toBe(1);
    registry = await registry.reopen();
    expect((await client.request('GET', uploadPath)).status).toBe(404);
    expect(await files()).toEqual({ kept: [], unfinished: 0 });
  });
});

describe('uploads', () => {
  const open = (more: {
    maxUploads?: number;
    maxUploadsOfToken?: number;
    idleMilliseconds?: number;
    blobs?: Pick<BlobStore, 'write'>;
  }) =>
    new Uploads({ blobs: registry.parts.artifacts, clock: registry.parts.clock, maxRowBytes: 0, ...more });
  const atMost = (most: number) => ({
    refuse(size: number) {
      if (size > most) throw new OciError('SIZE_INVALID', `more than ${most}`);
    },
  });
  async function* pieces(...texts: string[]) {
    for (const text of texts) yield [toBytes(text)];
  }

  it('are limited in number, also when they start concurrently', async () => {
    const uploads = open({ maxUploads: 3 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => uploads.start(REPOSITORY, 'token')),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      ...Array(3).fill('fulfilled'),
      ...Array(2).fill('rejected'),
    ]);
    await expect(uploads.start(REPOSITORY, 'token')).rejects.toMatchObject({
      code: 'TOOMANYREQUESTS',
      status: 429,
      headers: { 'Retry-After': '10' },
      message: 'too many open uploads: the limit is 3',
    });
    const [first] = outcomes;
    if (first?.status === 'fulfilled') await uploads.end(first.value);
    await uploads.start(REPOSITORY, 'token');
    await uploads.close();
    expect([uploads.count, (await files()).unfinished]).toEqual([0, 0]);
  });

  it('are limited per token, and other tokens have their own limit', async () => {
    const uploads = open({ maxUploadsOfToken: 2 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 4 }, () => uploads.start(REPOSITORY, 'greedy')),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    await expect(uploads.start('other/place', 'greedy')).rejects.toMatchObject({ code: 'TOOMANYREQUESTS' });
    await uploads.start(REPOSITORY, 'modest');
    const [first] = outcomes;
    if (first?.status === 'fulfilled') await uploads.end(first.value);
    await uploads.start(REPOSITORY, 'greedy');
    await uploads.close();
  });

  it('accept a blob of the maximum size, and not one byte more', async () => {
    const uploads = open({});
    const fits = await uploads.start(REPOSITORY, 'token');
    await uploads.receive(fits, pieces('12345', '67890'), atMost(10));
    await (await uploads.verify(fits, sha256('1234567890'))).writer.commit();
    const beyond = await uploads.start(REPOSITORY, 'token');
    await uploads.receive(beyond, pieces('12345', '67890'), atMost(10));
    await expect(uploads.receive(beyond, pieces('1'), atMost(10))).rejects.toMatchObject({
      code: 'SIZE_INVALID',
      status: 413,
      message: 'more than 10',
    });
    await expect(uploads.find(REPOSITORY, beyond.id)).rejects.toThrow('upload not found');
    expect(await files()).toEqual({ kept: [sha256('1234567890')], unfinished: 0 });
  });

  it('refuse an oversized declared length before any byte is sent', async () => {
    const uploadPath = await started();
    const tooLarge = { body: 'x', headers: { 'Content-Length': String(SERVER_LIMITS.maxBlobBytes + 1) } };
    const refused = await readError(await client.request('PATCH', uploadPath, tooLarge));
    expect([refused.status, refused.code]).toEqual([413, 'SIZE_INVALID']);
    expect(refused.message).toContain(String(SERVER_LIMITS.maxBlobBytes));
    expect((await client.request('GET', uploadPath)).status).toBe(404);
    const fits = { body: 'x', headers: { 'Content-Length': String(SERVER_LIMITS.maxBlobBytes) } };
    expect((await client.request('PATCH', await started(), fits)).status).toBe(202);
  });

  it.each(['write', 'sync'] as const)('end if the disk fails to %s', async (failing) => {
    const full = new KrmhubError('storage-full', 'cannot write to the blobs: disk full');
    const { artifacts } = registry.parts;
    const uploads = open({
      blobs: {
        write: async () => ({ ...(await artifacts.write()), [failing]: () => Promise.reject(full) }),
      },
    });
    const upload = await uploads.start(REPOSITORY, 'token');
    const attempt = async () => {
      await uploads.receive(upload, pieces('bytes'), atMost(10));
      await uploads.verify(upload, sha256('bytes'));
    };
    await expect(uploads.exclusive(upload, attempt)).rejects.toBe(full);
    await expect(uploads.find(REPOSITORY, upload.id)).rejects.toThrow('upload not found');
    expect(await files()).toEqual({ kept: [], unfinished: 0 });
  });

  it('do not start or count if the disk is full', async () => {
    const full = new KrmhubError('storage-full', 'cannot write to the blobs: disk full');
    const uploads = open({ maxUploads: 1, blobs: { write: () => Promise.reject(full) } });
    for (let at = 0; at < 3; at++) await expect(uploads.start(REPOSITORY, 'token')).rejects.toBe(full);
    expect(uploads.count).toBe(0);
  });

  it('leave no file if the blob cannot be recorded', async () => {
    await registry.close();
    registry = await openTestRegistry({
      start: false,
      wrapStore: (store) => ({
        ...store,
        addBlob: () => Promise.reject(new KrmhubError('unavailable', 'The database is locked.')),
      }),
    });
    for (const body of [LARGEST_ROW, `${LARGEST_ROW}.`]) {
      const target = `${REPOSITORY}/blobs/uploads/?digest=${sha256(body)}`;
      const response = await client.request('POST', target, { body });
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await readError(response)).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
    }
    await registry.parts.collector.stop();
    expect(await files()).toEqual({ kept: [], unfinished: 0 });
  });
});
