import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { computeDigest } from '@krmhub/oci';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { createApp } from '../server/app.js';
import type { UploadStore } from '../store/upload-store.js';
import { readError, testClient, toBytes } from '../testing/oci.js';
import { TestPieces } from '../testing/test-pieces.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { SharedUploads } from './shared-uploads.js';

const REPOSITORY = 'team/tools';
const { minUploadPieceBytes, uploadIdleMilliseconds, uploadLostMilliseconds, uploadPieceBytes } =
  SERVER_LIMITS;

describe('an upload that several processes receive', () => {
  let registry: TestRegistry;
  let pieces: TestPieces;
  let processes: { uploads: SharedUploads; client: ReturnType<typeof testClient> }[];

  /** Another process of the registry, which has only the database and the blobs in common. */
  function addProcess({
    store = {},
    ...limits
  }: {
    maxUploads?: number;
    maxUploadsOfToken?: number;
    store?: Partial<UploadStore>;
  } = {}) {
    const { parts } = registry;
    const uploads = new SharedUploads({
      ...limits,
      store: { ...parts.store, ...store },
      pieces,
      blobs: parts.artifacts,
      clock: parts.clock,
      log: parts.log,
    });
    const app = createApp({ ...parts, uploads });
    const request: TestRegistry['request'] = async (target, init) =>
      app.request(`http://registry.test${target}`, init);
    const client = testClient(() => ({ ...registry, request }));
    const added = { uploads, client };
    processes.push(added);
    return added;
  }

  beforeEach(async () => {
    registry = await openTestRegistry({ start: false });
    pieces = new TestPieces(registry.parts.clock);
    processes = [];
    for (let at = 0; at < 3; at++) addProcess();
  });
  afterEach(async () => {
    for (const { uploads } of processes) await uploads.close();
    await registry.close();
  });

  const on = (process: number) => processes[process]!.client;
  const uploadPath = (response: Response) => response.headers.get('location')!.slice('/v2/'.length);
  const start = async (process = 0) =>
    uploadPath(await on(process).request('POST', `${REPOSITORY}/blobs/uploads/`));
  const patch = (
    process: number,
    target: string,
    body: string | ReadableStream<Uint8Array>,
    range?: string,
  ) =>
    on(process).request('PATCH', target, {
      body,
      ...(range !== undefined && { headers: { 'Content-Range': range } }),
    });
  const finish = (process: number, target: string, digest: string, body?: string) =>
    on(process).request('PUT', `${target}?digest=${digest}`, body === undefined ? {} : { body });
  const progress = (response: Response) => [response.status, response.headers.get('range')];
  const unfinished = async () =>
    (await readdir(path.join(registry.folder, 'artifacts', 'unfinished'))).length;
  const isClean = async () => {
    for (const { uploads } of processes) await uploads.close();
    expect([...pieces.pieces.keys(), ...(await registry.parts.store.openUploads())]).toEqual([]);
    expect(await unfinished()).toBe(0);
  };

  it.each(['sha256', 'sha512'] as const)('starts, continues, and ends on any of them (%s)', async (name) => {
    const text = 'one two three';
    const digest = computeDigest(toBytes(text), name === 'sha256' ? name : `sha512:${'0'.repeat(128)}`);
    const target = await start(0);
    expect(progress(await patch(1, target, 'one '))).toEqual([202, '0-3']);
    expect(progress(await patch(2, target, 'two ', '4-7'))).toEqual([202, '0-7']);
    expect(progress(await on(0).request('GET', target))).toEqual([204, '0-7']);
    expect(progress(await patch(1, target, 'two ', '4-7'))).toEqual([416, '0-7']);
    const done = await finish(0, target, digest, 'three');
    expect([done.status, done.headers.get('docker-content-digest')]).toEqual([201, digest]);
    const read = await on(1).request('GET', `${REPOSITORY}/blobs/${digest}`, { authorization: '' });
    expect(await read.text()).toBe(text);
    for (const process of [0, 1, 2]) expect((await on(process).request('GET', target)).status).toBe(404);
    await isClean();
  });

  it('is verified: a wrong digest stores nothing, and ends it', async () => {
    const target = await start();
    await patch(1, target, 'bytes');
    expect(await readError(await finish(2, target, sha256('other')))).toMatchObject({
      status: 400,
      code: 'DIGEST_INVALID',
    });
    expect((await on(0).request('GET', target)).status).toBe(404);
    await isClean();
  });

  it('leaves no file if the database goes away while it is verified', async () => {
    const { parts } = registry;
    const uploads = new SharedUploads({
      store: { ...parts.store, endUpload: () => Promise.reject(new Error('the database is away')) },
      pieces,
      blobs: parts.artifacts,
      clock: parts.clock,
      log: parts.log,
    });
    const large = new Uint8Array(4_000_000);
    const upload = await uploads.start(REPOSITORY, 'token', { isLast: true });
    await uploads.exclusive(upload, async () => {
      const body = (async function* () {
        yield [large];
      })();
      await uploads.receive(upload, body, { refuse: () => undefined, isLast: true });
      expect(await unfinished()).toBe(1);
      await expect(uploads.verify(upload, sha256(large))).rejects.toThrow('the database is away');
    });
    expect(await unfinished()).toBe(0);
  });

  it('is read again only by a process that did not receive it', async () => {
    const same = await start(0);
    await patch(0, same, 'on one process');
    expect((await finish(0, same, sha256('on one process'))).status).toBe(201);
    expect(pieces.reads).toEqual([]);
    const target = `${REPOSITORY}/blobs/uploads/?digest=${sha256('in one request')}`;
    expect((await on(1).request('POST', target, { body: 'in one request' })).status).toBe(201);
    expect((await finish(2, await start(1), sha256('in two'), 'in two')).status).toBe(201);
    expect([pieces.reads, pieces.pieces.size]).toEqual([[], 0]);
    await isClean();
  });

  it('is stored in pieces of a limited size', async () => {
    const target = await start();
    const chunk = new Uint8Array(uploadPieceBytes / 4).fill(7);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < 5; at++) controller.enqueue(chunk);
        controller.close();
      },
    });
    expect((await patch(0, target, body)).status).toBe(202);
    expect([...pieces.pieces.values()].map(({ bytes }) => bytes.byteLength)).toEqual([
      uploadPieceBytes,
      uploadPieceBytes / 4,
    ]);
    expect(minUploadPieceBytes).toBeLessThan(uploadPieceBytes);
    const whole = sha256(new Uint8Array(chunk.byteLength * 5).fill(7));
    expect((await finish(1, target, whole)).status).toBe(201);
    await isClean();
  });

  it('retains what arrived if a chunk breaks off, for the next process', async () => {
    const target = await start();
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        if (sent > 3) controller.error(new Error('the connection was reset'));
        else controller.enqueue(toBytes(`part ${sent};`));
      },
    });
    expect((await patch(1, target, body, '0-99')).status).toBe(400);
    expect(progress(await on(2).request('GET', target))).toEqual([204, '0-20']);
    expect((await patch(2, target, 'rest', '21-24')).status).toBe(202);
    expect((await finish(1, target, sha256('part 1;part 2;part 3;rest'))).status).toBe(201);
    await isClean();
  });

  it('has one writer, until that was not seen for a while; it stores nothing then', async () => {
    const target = await start();
    let send: ReadableStreamDefaultController<Uint8Array>;
    let isRead = false;
    const body = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          send = controller;
        },
        // Once the request owns the upload.
        pull() {
          isRead = true;
        },
      },
      { highWaterMark: 0 },
    );
    const paused = patch(0, target, body, '0-99');
    await expect.poll(() => isRead).toBe(true);
    const others = await Promise.all([
      patch(1, target, 'x', '0-0'),
      finish(2, target, sha256('')),
      on(1).request('DELETE', target),
    ]);
    expect(others.map(({ status }) => status)).toEqual([409, 409, 409]);
    registry.advance(uploadLostMilliseconds + 1);
    expect((await patch(1, target, 'kept', '0-3')).status).toBe(202);
    send!.enqueue(toBytes('lost'));
    send!.close();
    expect((await paused).status).toBe(404);
    expect((await finish(2, target, sha256('kept'))).status).toBe(201);
    await isClean();
  });

  it('continues on another process while the first one cannot release it', async () => {
    let failures = 3;
    const process = processes.length;
    addProcess({
      store: {
        releaseUpload: async (owner) => {
          if (failures-- > 0) throw new KrmhubError('unavailable', 'terminating connection');
          return registry.parts.store.releaseUpload(owner);
        },
      },
    });
    const target = await start(process);
    expect((await patch(process, target, 'first', '0-4')).status).toBe(202);
    expect((await patch(1, target, ' second', '5-11')).status).toBe(202);
    expect(failures).toBeLessThan(1);
    expect((await finish(2, target, sha256('first second'))).status).toBe(201);
    await isClean();
  });

  it('is cancelled on any process, or ends when it is idle', async () => {
    const [cancelled, idle, moved] = [await start(0), await start(0), await start(1)];
    for (const target of [cancelled, idle, moved]) await patch(1, target, 'bytes');
    expect((await on(2).request('DELETE', cancelled)).status).toBe(204);
    registry.advance(uploadIdleMilliseconds - 5_000);
    expect(await processes[2]!.uploads.expire()).toBe(0);
    await patch(0, moved, ' moved');
    registry.advance(5_001);
    expect(await processes[2]!.uploads.expire()).toBe(1);
    expect((await on(0).request('GET', idle)).status).toBe(404);
    expect((await finish(2, moved, sha256('bytes moved'))).status).toBe(201);
    // A process that was killed before it recorded a piece, or while it deleted some.
    await pieces.put(`${crypto.randomUUID()}/left`, toBytes('x'));
    await processes[0]!.uploads.expire();
    expect(pieces.pieces.size).toBe(1);
    registry.advance(uploadIdleMilliseconds + 1);
    await processes[0]!.uploads.expire();
    await isClean();
  });

  it('counts for the quota while one request sends all of it, on any process', async () => {
    for (const { uploads } of processes) await uploads.close();
    await registry.close();
    registry = await openTestRegistry({ start: false, config: { repositoryMebibytes: 20 } });
    processes = [];
    for (let at = 0; at < 2; at++) addProcess();
    const begin = (process: number) => {
      let send: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          send = controller;
        },
      });
      const target = `${REPOSITORY}/blobs/uploads/?digest=${sha256('')}`;
      const response = on(process).request('POST', target, { body });
      return {
        send: (bytes: number) => send.enqueue(new Uint8Array(bytes)),
        close: () => send.close(),
        response,
      };
    };
    const counted = () => registry.parts.store.bytesOfOtherUploads({ id: 'none', repository: REPOSITORY });
    const [first, second] = [begin(0), begin(1)];
    first.send(uploadPieceBytes);
    await expect.poll(counted).toBe(uploadPieceBytes);
    second.send(uploadPieceBytes);
    await expect.poll(counted).toBe(2 * uploadPieceBytes);
    const third = await on(1).request('POST', `${REPOSITORY}/blobs/uploads/?digest=${sha256('')}`, {
      body: new Uint8Array(uploadPieceBytes / 2 + 1),
    });
    const refusal = { status: 403, code: 'DENIED', message: expect.stringContaining('quota exceeded') };
    expect(await readError(third)).toMatchObject(refusal);
    first.send(uploadPieceBytes);
    // It was accepted before the second one began.
    expect(await readError(await first.response)).toMatchObject(refusal);
    expect(await counted()).toBe(uploadPieceBytes);
    second.close();
    expect((await second.response).status).toBe(400);
    expect(await counted()).toBe(0);
    await isClean();
  });

  it('counts for the limits of all processes', async () => {
    const limits = { maxUploads: 3, maxUploadsOfToken: 2 };
    processes = [];
    const [one, other] = [addProcess(limits), addProcess(limits)];
    const refusal = (message: string) => ({ code: 'TOOMANYREQUESTS', status: 429, message });
    const first = await one.uploads.start(REPOSITORY, 'greedy');
    await other.uploads.start(REPOSITORY, 'greedy');
    await expect(one.uploads.start(REPOSITORY, 'greedy')).rejects.toMatchObject(
      refusal('too many open uploads with your token: the limit is 2'),
    );
    await one.uploads.start(REPOSITORY, 'other');
    await expect(other.uploads.start(REPOSITORY, 'third')).rejects.toMatchObject(
      refusal('too many open uploads: the limit is 3'),
    );
    await other.uploads.end(await other.uploads.find(REPOSITORY, first.id));
    await other.uploads.start(REPOSITORY, 'third');
  });
});
