import { describe, expect, it } from 'vitest';
import { expectBlob, expectDeleted } from './data-set-steps.js';
import {
  ALGORITHMS,
  blob,
  conformanceRegistry,
  digestOf,
  errorCode,
  newRepository,
  OCTETS,
  type OciResponse,
  someBytes,
  uploads,
  withQuery,
} from './oci-requests.js';

const requests = conformanceRegistry();

/** The suite's checks after every accepted blob, until it is deleted again. */
async function expectWritten(
  answer: OciResponse,
  repository: string,
  bytes: Buffer,
  digest: string,
): Promise<void> {
  expect(answer.status, answer.body.toString()).toBe(201);
  expect(answer.headers['docker-content-digest']).toBe(digest);
  expectBlob(await requests.get(requests.location(answer)), bytes, digest);
  const head = await requests.head(blob(repository, digest));
  expect(head.status).toBe(200);
  expect(head.headers['content-length']).toBe(String(bytes.byteLength));
  expectBlob(await requests.get(blob(repository, digest)), bytes, digest);
  await expectDeleted(requests, blob(repository, digest));
}

async function expectRefused(answer: OciResponse, repository: string, digest: string): Promise<void> {
  expect(answer.status).toBe(400);
  expect(errorCode(answer)).toBe('DIGEST_INVALID');
  expect((await requests.head(blob(repository, digest))).status).toBe(404);
}

function inOneRequest(repository: string, bytes: Buffer, digest: string): Promise<OciResponse> {
  const target = withQuery(uploads(repository), { digest });
  return requests.send('POST', target, { headers: OCTETS, body: bytes, chunked: bytes.byteLength === 0 });
}

/** Ends an upload with the remaining bytes, without a Content-Length if there are none. */
function close(place: string, digest: string, bytes: Buffer = Buffer.alloc(0)): Promise<OciResponse> {
  const target = withQuery(place, { digest });
  return requests.send('PUT', target, { headers: OCTETS, body: bytes, chunked: bytes.byteLength === 0 });
}

function stream(place: string, bytes: Buffer): Promise<OciResponse> {
  return requests.send('PATCH', place, { headers: OCTETS, body: bytes, chunked: true });
}

/** Sends pieces as chunks, each to the location of the response before it; returns the next location. */
async function sendChunks(place: string, pieces: readonly Buffer[]): Promise<string> {
  let next = place;
  let sent = 0;
  for (const piece of pieces) {
    const answer = await requests.patch(next, piece, sent);
    expect(answer.status).toBe(202);
    sent += piece.byteLength;
    expect(answer.headers.range).toBe(`0-${sent - 1}`);
    next = requests.location(answer);
  }
  return next;
}

const splitPieces = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.byteLength / size) }, (_, number) =>
    bytes.subarray(number * size, (number + 1) * size),
  );

describe.each(ALGORITHMS)('a blob by %s', (algorithm) => {
  const fresh = (size = 512) => {
    const bytes = someBytes(size);
    return { repository: newRepository(), bytes, digest: digestOf(bytes, algorithm) };
  };
  /** The digest of other bytes. */
  const other = () => digestOf(someBytes(16), algorithm);

  it('is pushed in one POST', async () => {
    const { repository, bytes, digest } = fresh();
    await expectWritten(await inOneRequest(repository, bytes, digest), repository, bytes, digest);
  });

  it('is refused in one POST if the digest differs', async () => {
    const { repository, bytes } = fresh();
    const digest = other();
    await expectRefused(await inOneRequest(repository, bytes, digest), repository, digest);
  });

  it('is pushed by POST and PUT', async () => {
    const { repository, bytes, digest } = fresh();
    const place = await requests.session(repository);
    await expectWritten(await close(place, digest, bytes), repository, bytes, digest);
  });

  it('is refused by POST and PUT if the digest differs', async () => {
    const { repository, bytes } = fresh();
    const digest = other();
    const place = await requests.session(repository);
    await expectRefused(await close(place, digest, bytes), repository, digest);
  });

  it('is pushed in one chunk', async () => {
    const { repository, bytes, digest } = fresh();
    const place = await sendChunks(await requests.session(repository), [bytes]);
    await expectWritten(await close(place, digest), repository, bytes, digest);
  });

  it('is pushed in three chunks', async () => {
    const { repository, bytes, digest } = fresh(3_067);
    const place = await sendChunks(await requests.session(repository), splitPieces(bytes, 1_024));
    await expectWritten(await close(place, digest), repository, bytes, digest);
  });

  it('is pushed in chunks, the last one in the PUT', async () => {
    const { repository, bytes, digest } = fresh(3_067);
    const place = await sendChunks(await requests.session(repository), splitPieces(bytes, 1_024).slice(0, 2));
    const answer = await requests.send('PUT', withQuery(place, { digest }), {
      headers: { ...OCTETS, 'Content-Range': '2048-3066' },
      body: bytes.subarray(2_048),
    });
    await expectWritten(answer, repository, bytes, digest);
  });

  it('is refused in chunks if the digest differs', async () => {
    const { repository, bytes } = fresh(3_067);
    const digest = other();
    const place = await sendChunks(await requests.session(repository), splitPieces(bytes, 1_024));
    await expectRefused(await close(place, digest), repository, digest);
  });

  it.each(['PATCH', 'PUT'])('continues after a chunk out of order, the last one in a %s', async (method) => {
    const { repository, bytes, digest } = fresh(3_067);
    const [first, second, third] = splitPieces(bytes, 1_024) as [Buffer, Buffer, Buffer];
    const withDigest = (target: string) => withQuery(target, { digest });
    const last = (target: string) =>
      method === 'PATCH'
        ? requests.patch(target, third, 2_048)
        : requests.send('PUT', withDigest(target), {
            headers: { ...OCTETS, 'Content-Range': '2048-3066' },
            body: third,
          });
    const refused = async (answer: OciResponse, target: string, range: string) => {
      expect(answer.status).toBe(416);
      expect(errorCode(answer)).toBe('RANGE_INVALID');
      const status = await requests.get(target);
      expect([status.status, status.headers.range]).toEqual([204, range]);
      return requests.location(status);
    };
    let place = await requests.session(repository);
    place = await refused(await requests.patch(place, second, 1_024), place, '0-0');
    place = requests.location(await requests.patch(place, first, 0));
    const asked = method === 'PATCH' ? place : withDigest(place);
    place = await refused(await last(place), asked, '0-1023');
    place = requests.location(await requests.patch(place, second, 1_024));
    place = await refused(await requests.patch(place, first, 0), place, '0-2047');
    const answer = await last(place);
    if (method === 'PUT') return expectWritten(answer, repository, bytes, digest);
    expect(answer.status).toBe(202);
    await expectWritten(await close(requests.location(answer), digest), repository, bytes, digest);
  });

  it('is pushed as a stream, without length and range', async () => {
    const { repository, bytes, digest } = fresh();
    const answer = await stream(await requests.session(repository), bytes);
    expect(answer.status).toBe(202);
    await expectWritten(await close(requests.location(answer), digest), repository, bytes, digest);
  });

  it('is refused as a stream if the digest differs', async () => {
    const { repository, bytes } = fresh();
    const digest = other();
    const answer = await stream(await requests.session(repository), bytes);
    await expectRefused(await close(requests.location(answer), digest), repository, digest);
  });

  describe.each([
    ['of no bytes', Buffer.alloc(0)],
    ['that is the empty object', Buffer.from('{}')],
  ])('%s', (_, bytes) => {
    const digest = digestOf(bytes, algorithm);

    it('is pushed in one POST', async () => {
      const repository = newRepository();
      await expectWritten(await inOneRequest(repository, bytes, digest), repository, bytes, digest);
    });

    it('is pushed by POST and PUT', async () => {
      const repository = newRepository();
      const place = await requests.session(repository);
      await expectWritten(await close(place, digest, bytes), repository, bytes, digest);
    });

    it('is pushed in chunks', async () => {
      const repository = newRepository();
      const place = await sendChunks(await requests.session(repository), splitPieces(bytes, 1_024));
      await expectWritten(await close(place, digest), repository, bytes, digest);
    });

    it('is pushed as a stream', async () => {
      const repository = newRepository();
      const answer = await stream(await requests.session(repository), bytes);
      expect(answer.status).toBe(202);
      await expectWritten(await close(requests.location(answer), digest), repository, bytes, digest);
    });

    it('is pushed again and again after it was deleted', async () => {
      const repository = newRepository();
      for (let time = 0; time < 3; time += 1) {
        await expectWritten(await inOneRequest(repository, bytes, digest), repository, bytes, digest);
      }
    });
  });
});

describe('an upload', () => {
  it('starts at a location of its repository, with no minimum chunk length or a numeric one', async () => {
    const repository = newRepository();
    const { status, headers } = await requests.send('POST', uploads(repository));
    expect(status).toBe(202);
    expect(headers.location).toMatch(new RegExp(`^${uploads(repository)}[^/]+$`));
    expect(headers['oci-chunk-min-length'] ?? '0').toMatch(/^\d+$/);
  });

  it('reports its size before anything was sent', async () => {
    const answer = await requests.get(await requests.session(newRepository()));
    expect(answer.status).toBe(204);
    expect(answer.headers.range).toBe('0-0');
  });

  it('is cancelled, and is then unknown', async () => {
    const place = await requests.session(newRepository());
    expect((await requests.delete(place)).status).toBe(204);
    const answer = await requests.get(place);
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('BLOB_UPLOAD_UNKNOWN');
  });

  it('can be cancelled after something was sent', async () => {
    const place = await sendChunks(await requests.session(newRepository()), [someBytes(100)]);
    expect((await requests.delete(place)).status).toBe(204);
    expect((await requests.patch(place, someBytes(10), 100)).status).toBe(404);
  });

  it('keeps its first location, and refuses a chunk that was already sent', async () => {
    const repository = newRepository();
    const bytes = someBytes(42);
    const place = await requests.session(repository);
    const first = await requests.patch(place, bytes.subarray(0, 22), 0);
    expect([first.status, first.headers.range]).toEqual([202, '0-21']);
    expect((await requests.patch(place, bytes.subarray(0, 22), 0)).status).toBe(416);
    const status = await requests.get(place);
    expect([status.status, status.headers.range]).toEqual([204, '0-21']);
    const second = await requests.patch(requests.location(status), bytes.subarray(22), 22);
    expect([second.status, second.headers.range]).toEqual([202, '0-41']);
    const digest = digestOf(bytes);
    await expectWritten(await close(requests.location(second), digest), repository, bytes, digest);
  });
});
