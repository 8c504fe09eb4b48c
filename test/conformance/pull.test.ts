import { beforeAll, describe, expect, it } from 'vitest';
import { expectBlob, expectManifest, getAll, headAll, pushBlobs, pushDataSet } from './data-set-steps.js';
import { dataSets, IMAGE, INDEX, newImage } from './data-sets.js';
import {
  ALGORITHMS,
  blob,
  conformanceRegistry,
  digestOf,
  errorCode,
  manifests,
  newRepository,
  someBytes,
} from './oci-requests.js';

const requests = conformanceRegistry();

describe('missing content', () => {
  it.each(ALGORITHMS)('a blob by %s in a repository that does not exist is 404', async (algorithm) => {
    const answer = await requests.get(blob(newRepository(), digestOf(someBytes(8), algorithm)));
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('BLOB_UNKNOWN');
  });

  it.each(ALGORITHMS)('a manifest by %s in a repository that does not exist is 404', async (algorithm) => {
    const answer = await requests.get(manifests(newRepository(), digestOf(someBytes(8), algorithm)));
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('MANIFEST_UNKNOWN');
  });

  it.each(['GET', 'HEAD'])('%s of a manifest by an unknown tag is 404', async (method) => {
    const { status } = await requests.send(method, manifests(newRepository(), 'missing-tag'));
    expect(status).toBe(404);
  });

  it.each(ALGORITHMS)(
    'an unknown blob and manifest by %s are 404 also in a repository that exists',
    async (algorithm) => {
      const repository = newRepository();
      await requests.pushBlob(repository, someBytes(8));
      const digest = digestOf(someBytes(8), algorithm);
      expect((await requests.head(blob(repository, digest))).status).toBe(404);
      expect((await requests.head(manifests(repository, digest))).status).toBe(404);
    },
  );

  it.each(['GET', 'HEAD'])('%s of a manifest by an invalid tag is 404, not 400', async (method) => {
    const { status } = await requests.send(method, manifests(newRepository(), '.INVALID_MANIFEST_NAME'));
    expect(status).toBe(404);
  });

  it.each(['sha256:baddigeststring', 'sha256:totallywrong'])(
    'a manifest by %s is 400, with a code of the specification',
    async (digest) => {
      const answer = await requests.get(manifests(newRepository(), digest));
      expect(answer.status).toBe(400);
      expect(errorCode(answer)).toBe('DIGEST_INVALID');
    },
  );
});

describe.each(ALGORITHMS)('a blob by %s', (algorithm) => {
  const repository = newRepository();
  const bytes = someBytes(2_048);
  const digest = digestOf(bytes, algorithm);
  const target = blob(repository, digest);

  beforeAll(async () => {
    await requests.pushBlob(repository, bytes, digest);
  });

  it('HEAD has its length and the requested digest, and no body', async () => {
    const { status, headers, body } = await requests.head(target);
    expect(status).toBe(200);
    expect(headers['content-length']).toBe('2048');
    expect(headers['docker-content-digest']).toBe(digest);
    expect(body.byteLength).toBe(0);
  });

  it('GET returns the exact bytes with their length, uncompressed', async () => {
    expectBlob(await requests.get(target), bytes, digest);
  });

  it('GET without credentials returns the same', async () => {
    expectBlob(await requests.as(undefined).get(target), bytes, digest);
  });

  it.each([
    ['bytes=500-1499', 500, 1_500],
    ['bytes=500-', 500, 2_048],
    ['bytes=-500', 1_548, 2_048],
    ['bytes=2000-5000', 2_000, 2_048],
  ])('Range %s is 206 with that part of it', async (range, start, end) => {
    const { status, headers, body } = await requests.get(target, { Range: range });
    expect(status).toBe(206);
    expect(headers['content-length']).toBe(String(end - start));
    expect(headers['content-range']).toBe(`bytes ${start}-${end - 1}/2048`);
    expect(body.equals(bytes.subarray(start, end))).toBe(true);
  });

  it.each(['bytes=500-0', 'bytes=5000-10000'])('Range %s is 416', async (range) => {
    const answer = await requests.get(target, { Range: range });
    expect(answer.status).toBe(416);
    expect(answer.headers['content-range']).toBe('bytes */2048');
    expect(errorCode(answer)).toBe('RANGE_INVALID');
  });
});

describe.each(ALGORITHMS)('a blob of no bytes by %s', (algorithm) => {
  const repository = newRepository();
  const nothing = Buffer.alloc(0);
  const digest = digestOf(nothing, algorithm);

  beforeAll(async () => {
    await requests.pushBlob(repository, nothing, digest);
  });

  it('HEAD has a length of 0', async () => {
    const { status, headers } = await requests.head(blob(repository, digest));
    expect(status).toBe(200);
    expect(headers['content-length']).toBe('0');
  });

  it('GET has a length of 0 and no chunked encoding', async () => {
    expectBlob(await requests.get(blob(repository, digest)), nothing, digest);
  });
});

describe.each(ALGORITHMS)('a manifest that was pushed by %s', (algorithm) => {
  const repository = newRepository();
  const { blobs, manifest } = newImage({}, algorithm);

  beforeAll(async () => {
    await pushBlobs(requests, repository, { blobs });
    expect((await requests.putManifest(repository, manifest.digest, manifest)).status).toBe(201);
  });

  it('has the same digest and no other', async () => {
    const target = manifests(repository, manifest.digest);
    expect((await requests.head(target)).headers['docker-content-digest']).toBe(manifest.digest);
    expectManifest(await requests.get(target), manifest);
  });

  it.each([
    ['two lines of Accept', { Accept: [INDEX, IMAGE] }],
    ['no Accept', {}],
    ['an Accept of anything', { Accept: '*/*' }],
  ])('has its media type without parameters with %s', async (_, headers) => {
    const answer = await requests.get(manifests(repository, manifest.digest), headers);
    expect(answer.headers['content-type']).toBe(IMAGE);
  });
});

describe.each(dataSets)('$name', (set) => {
  const repository = newRepository();

  beforeAll(() => pushDataSet(requests, repository, set));

  it('HEAD has all headers and no body', () => headAll(requests, repository, set));

  it('GET returns all of it, byte for byte', () => getAll(requests, repository, set));
});
