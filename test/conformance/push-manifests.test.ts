import { describe, expect, it } from 'vitest';
import {
  expectBlob,
  expectDeleted,
  expectManifest,
  pushBlobs,
  pushDataSet,
  pushManifest,
} from './data-set-steps.js';
import { dataSetOf, dataSets, IMAGE, IMAGE_CONFIG, newImage } from './data-sets.js';
import {
  ALGORITHMS,
  blob,
  conformanceRegistry,
  digestOf,
  errorCode,
  manifests,
  newRepository,
  someBytes,
  withQuery,
} from './oci-requests.js';

const requests = conformanceRegistry();

describe.each(dataSets)('$name', (set) => {
  it('is accepted by its digest and by its tags, each time with its location and subject', () =>
    pushDataSet(requests, newRepository(), set));
});

describe.each(ALGORITHMS)('a manifest by %s', (algorithm) => {
  it('is refused if its bytes differ', async () => {
    const repository = newRepository();
    const { blobs, manifest } = newImage({}, algorithm);
    await pushBlobs(requests, repository, { blobs });
    const { digest, mediaType } = manifest;
    const bytes = Buffer.concat([manifest.bytes, Buffer.from('  ')]);
    const answer = await requests.putManifest(repository, digest, { bytes, mediaType });
    expect(answer.status).toBe(400);
    expect(errorCode(answer)).toBe('DIGEST_INVALID');
    expect((await requests.head(manifests(repository, digest))).status).toBe(404);
  });

  it('gets the requested tags beside its digest', async () => {
    const repository = newRepository();
    const { blobs, manifest } = newImage({}, algorithm);
    await pushBlobs(requests, repository, { blobs });
    const tags = ['one', 'two', 'three'];
    const target = withQuery(manifests(repository, manifest.digest), { tag: tags });
    const answer = await requests.send('PUT', target, {
      headers: { 'Content-Type': IMAGE },
      body: manifest.bytes,
      chunked: true,
    });
    expect(answer.status).toBe(201);
    expect(String(answer.headers['oci-tag']).split(/, */)).toEqual(tags);
    for (const tag of tags) expectManifest(await requests.get(manifests(repository, tag)), manifest);
  });
});

describe('a manifest', () => {
  it('with an invalid digest is refused', async () => {
    const repository = newRepository();
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, repository, { blobs });
    const answer = await requests.putManifest(repository, 'sha256:baddigeststring', manifest);
    expect(answer.status).toBe(400);
    expect(errorCode(answer)).toBe('DIGEST_INVALID');
  });

  it('may have its media type only in the header', async () => {
    const repository = newRepository();
    const config = { mediaType: IMAGE_CONFIG, digest: '', size: 2 };
    config.digest = await requests.pushBlob(repository, Buffer.from('{}'));
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, config, layers: [] }, null, '\t'));
    const manifest = { bytes, digest: digestOf(bytes), mediaType: IMAGE, tags: ['emptylayer'] };
    await pushManifest(requests, repository, manifest);
  });

  it('may be indented, with data and unknown fields in the descriptor of its configuration', async () => {
    const repository = newRepository();
    const bytes = Buffer.from('{\n\t"architecture": "amd64"\n}');
    const digest = await requests.pushBlob(repository, bytes);
    const size = bytes.byteLength;
    const data = bytes.toString('base64');
    const config = { mediaType: IMAGE_CONFIG, digest, size, data, newUnspecifiedField: data };
    const layer = { mediaType: 'application/octet-stream', digest, size };
    const document = { schemaVersion: 2, mediaType: IMAGE, config, layers: [layer] };
    const manifest = Buffer.from(JSON.stringify(document, null, '\t'));
    await pushManifest(requests, repository, {
      bytes: manifest,
      digest: digestOf(manifest),
      mediaType: IMAGE,
      tags: ['indented'],
    });
  });

  it('has four tags, one after the other', async () => {
    const repository = newRepository();
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, repository, { blobs });
    const tags = ['test0', 'test1', 'test2', 'test3'];
    await pushManifest(requests, repository, { ...manifest, tags });
    for (const tag of tags) expectManifest(await requests.get(manifests(repository, tag)), manifest);
  });

  it('is accepted before its subject', async () => {
    const repository = newRepository();
    const { blobs, manifests: pushed } = dataSetOf('artifacts that speak of an image');
    await pushBlobs(requests, repository, { blobs });
    for (const manifest of [...pushed].reverse()) await pushManifest(requests, repository, manifest);
  });

  it('with a length instead of chunks is accepted too', async () => {
    const repository = newRepository();
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, repository, { blobs });
    const sent = { headers: { 'Content-Type': IMAGE }, body: manifest.bytes };
    expect((await requests.send('PUT', manifests(repository, 'v1'), sent)).status).toBe(201);
  });

  it.each([
    [
      'a blob',
      IMAGE,
      (digest: string) => ({ config: { mediaType: IMAGE_CONFIG, digest, size: 8 }, layers: [] }),
    ],
    [
      'a manifest of an index',
      'application/vnd.oci.image.index.v1+json',
      (digest: string) => ({ manifests: [{ mediaType: IMAGE, digest, size: 8 }] }),
    ],
  ])('that names %s that does not exist is refused', async (_, mediaType, document) => {
    const bytes = Buffer.from(
      JSON.stringify({ schemaVersion: 2, mediaType, ...document(digestOf(someBytes(8))) }),
    );
    const answer = await requests.putManifest(newRepository(), 'v1', { bytes, mediaType });
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('MANIFEST_BLOB_UNKNOWN');
  });

  it('may name the empty object that no client pushed', async () => {
    const repository = newRepository();
    const empty = Buffer.from('{}');
    const digest = digestOf(empty);
    const config = { mediaType: 'application/vnd.oci.empty.v1+json', digest, size: 2 };
    const artifactType = 'application/vnd.example.type';
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, artifactType, config, layers: [] }));
    expect((await requests.head(blob(repository, digest))).status).toBe(404);
    expect((await requests.putManifest(repository, 'v1', { bytes, mediaType: IMAGE })).status).toBe(201);
    expectBlob(await requests.get(blob(repository, digest)), empty, digest);
    await expectDeleted(requests, manifests(repository, digestOf(bytes)));
    expect((await requests.head(blob(repository, digest))).status).toBe(404);
  });
});
