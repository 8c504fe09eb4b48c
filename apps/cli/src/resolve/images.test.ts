import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { computeDigest, MEDIA_TYPES, type OciClient, toContent } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOciClient } from '../registry/connect-oci.js';
import { consumePorts } from '../registry/consume-ports.js';
import { type TestRegistry, testIo, testRegistry } from '../testing/command-line.js';

/** Tags of images become digests: with a real registry, and with one that lies. */

let root: string;
let folder: string;
let registry: TestRegistry;
let host: string;
let client: OciClient;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'krmhub-resolve-images-'));
  registry = await testRegistry();
  host = new URL(registry.url).host;
  client = createOciClient({ env: registry.env });
});
afterAll(async () => {
  await registry.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(root, 'user-'));
});

async function push(repository: string, value: object, mediaType: string, tag?: string): Promise<Digest> {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = computeDigest(bytes);
  const reference = { registry: host, repository, ...(tag === undefined ? { digest } : { tag }) };
  await client.putManifest(reference, bytes, mediaType);
  return digest as Digest;
}

/** Pushes an image for a platform and returns the digest of its manifest. */
async function pushImage(repository: string, architecture: string, tag?: string): Promise<Digest> {
  const place = { registry: host, repository };
  const blobs = [];
  for (const [mediaType, text] of [
    [
      'application/vnd.oci.image.config.v1+json',
      JSON.stringify({ os: 'linux', architecture, rootfs: { type: 'layers', diff_ids: [] } }),
    ],
    ['application/vnd.oci.image.layer.v1.tar', `layer for ${architecture} of ${tag}`],
  ] as const) {
    const bytes = Buffer.from(text);
    const digest = computeDigest(bytes);
    await client.pushBlob(place, digest, toContent(bytes));
    blobs.push({ mediaType, digest, size: bytes.byteLength });
  }
  const [config, ...layers] = blobs;
  return push(
    repository,
    { schemaVersion: 2, mediaType: MEDIA_TYPES.image, config, layers },
    MEDIA_TYPES.image,
    tag,
  );
}

async function pushIndex(
  repository: string,
  tag: string,
): Promise<{ index: Digest; platforms: Record<string, Digest> }> {
  const platforms: Record<string, Digest> = {};
  for (const architecture of ['arm64', 'amd64']) {
    platforms[`linux/${architecture}`] = await pushImage(repository, architecture);
  }
  const attestation = {
    mediaType: MEDIA_TYPES.image,
    digest: platforms['linux/amd64'],
    size: 1,
    platform: { os: 'unknown', architecture: 'unknown' },
  };
  const manifests = [
    ...Object.entries(platforms).map(([name, digest]) => {
      const [os, architecture] = name.split('/');
      return { mediaType: MEDIA_TYPES.image, digest, size: 1, platform: { os, architecture } };
    }),
    attestation,
  ];
  const value = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests };
  return { index: await push(repository, value, MEDIA_TYPES.index, tag), platforms };
}

async function resolve(
  image: string,
  options: Partial<ResolverOptions> & { sha256?: string } = {},
): Promise<Resolution> {
  const { sha256: pinned, ...rest } = options;
  await writeFile(
    path.join(folder, 'catalog.yaml'),
    `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: images}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Java}
    versions: [{name: v1}]
    runtime:
      container:
        image: ${image}
${pinned === undefined ? '' : `        sha256: ${pinned}\n`}`,
  );
  const io = testIo({ cwd: folder, env: { HOME: folder, KRMHUB_CACHE: path.join(folder, 'cache') } });
  const resolver = await openResolver(consumePorts(io), {
    catalogs: ['catalog.yaml'],
    trustedCatalogs: [],
    offline: false,
    ...rest,
  });
  try {
    return await resolver.resolve({ apiVersion: 'example.com/v1', kind: 'Java', catalogs: [] });
  } finally {
    await resolver.close();
  }
}

describe('a tag', () => {
  it('becomes the digest of an index and the platforms in it', async () => {
    const { index, platforms } = await pushIndex('team/java', 'v1');
    const image = `${host}/team/java:v1`;
    const found = await resolve(image);
    expect(found.runtime).toEqual({
      type: 'container',
      image: `${host}/team/java@${index}`,
      platforms: { 'linux/amd64': platforms['linux/amd64'], 'linux/arm64': platforms['linux/arm64'] },
      network: false,
      storage: false,
    });
    expect(found.warnings).toEqual([`the image ${image} has no digest; ${image} is now ${index}`]);
  });

  it('becomes the digest of a single image and its platform', async () => {
    const digest = await pushImage('team/single', 'arm64', 'v1');
    expect((await resolve(`${host}/team/single:v1`)).runtime).toMatchObject({
      image: `${host}/team/single@${digest}`,
      platforms: { 'linux/arm64': digest },
    });
  });

  it('is looked up each time, and offline is what it was last', async () => {
    const before = await pushImage('team/moving', 'amd64', 'v1');
    const image = `${host}/team/moving:v1`;
    expect((await resolve(image)).runtime).toMatchObject({ image: `${host}/team/moving@${before}` });
    const after = await pushImage('team/moving', 'arm64', 'v1');
    expect((await resolve(image, { offline: true })).runtime).toMatchObject({
      image: `${host}/team/moving@${before}`,
    });
    expect((await resolve(image)).runtime).toMatchObject({ image: `${host}/team/moving@${after}` });
    await expect(resolve(`${host}/team/moving:v2`, { offline: true })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('is not in the cache, and --offline is set'),
    });
  });

  it('that does not exist is an error', async () => {
    await expect(resolve(`${host}/team/nothing:v1`)).rejects.toMatchObject({
      message: expect.stringContaining('team/nothing'),
    });
    await expect(resolve('127.0.0.1:1/team/java:v1')).rejects.toMatchObject({ code: 'unreachable' });
  });
});

describe('a digest in the catalog', () => {
  it('needs no registry', async () => {
    const hex = 'c'.repeat(64);
    expect((await resolve('127.0.0.1:1/team/java:v1', { sha256: hex })).runtime).toEqual({
      type: 'container',
      image: `127.0.0.1:1/team/java@sha256:${hex}`,
      network: false,
      storage: false,
    });
  });

  it('is asked for its platforms only if they are needed, and then once', async () => {
    const { index, platforms } = await pushIndex('team/platforms', 'v1');
    const image = `${host}/team/platforms:v1`;
    const options = { sha256: index.slice('sha256:'.length), platforms: true };
    expect((await resolve(image, options)).runtime).toMatchObject({
      image: `${host}/team/platforms@${index}`,
      platforms,
    });
    expect((await resolve(image, { ...options, offline: true })).runtime).toMatchObject({ platforms });
  });
});

describe('a registry that lies', () => {
  let server: Server;
  let address: string;
  let respond: () => { body: string; type: string };
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { body, type } = respond();
      response.writeHead(200, { 'content-type': type, 'docker-content-digest': `sha256:${'d'.repeat(64)}` });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const index = JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [] });

  it('about the digest of a manifest is not believed: the digest is that of the bytes', async () => {
    respond = () => ({ body: index, type: MEDIA_TYPES.index });
    expect((await resolve(`${address}/team/java:v1`)).runtime).toMatchObject({
      image: `${address}/team/java@${sha256(index)}`,
    });
  });

  it('with another manifest than the catalog names is refused', async () => {
    respond = () => ({ body: index, type: MEDIA_TYPES.index });
    await expect(
      resolve(`${address}/team/java:v1`, { sha256: 'c'.repeat(64), platforms: true }),
    ).rejects.toMatchObject({
      code: 'digest-mismatch',
    });
  });

  it.each([
    ['no manifest', '{}', MEDIA_TYPES.index],
    ['HTML', '<html>', 'text/html'],
    ['no JSON', '{', MEDIA_TYPES.image],
    ['a huge manifest', ' '.repeat(5_000_000), MEDIA_TYPES.image],
  ])('with %s is refused', async (_, body, type) => {
    respond = () => ({ body, type });
    await expect(resolve(`${address}/team/java:v1`)).rejects.toMatchObject({ name: 'KrmhubError' });
  });
});
