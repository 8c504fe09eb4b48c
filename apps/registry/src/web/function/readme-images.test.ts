import { computeDigest, README_IMAGE_LIMITS, readmeImagesManifest, TITLE } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definitionArtifact, descriptor, testClient } from '../../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';

const PNG = new Uint8Array(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
);
const GIF = Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';

let registry: TestRegistry;
const client = testClient(() => registry);

beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const page = async (path: string) =>
  (await registry.request(path, { headers: { Accept: 'text/html' } })).text();
const repositoryName = (kind: string) => `functions/example.com/${kind.toLowerCase()}`;
const imagePath = (kind: string, bytes: Uint8Array | string, release = '1.0.0') =>
  `/functions/example.com/${kind}/releases/${release}/images/${sha256(bytes)}`;

async function publish(kind: string, readme: string): Promise<void> {
  const { status } = await registry.publish({ kind, release: '1.0.0' }, '?wait=true', { readme });
  expect(status).toBe(201);
}

/** Attaches images to release 1.0.0 as `krmhub attach` does. Returns the digest of their manifest. */
async function attach(
  kind: string,
  images: Record<string, Uint8Array | string>,
  created = '2026-01-01T00:00:00Z',
): Promise<Digest> {
  const repository = repositoryName(kind);
  const release = await client.request('GET', `${repository}/manifests/1.0.0`);
  const subject = new Uint8Array(await release.arrayBuffer());
  const manifest = readmeImagesManifest({
    subject: {
      mediaType: release.headers.get('content-type')!,
      digest: computeDigest(subject),
      size: subject.byteLength,
    },
    images: await Promise.all(
      Object.entries(images).map(async ([path, content]) => ({
        path,
        mediaType: 'image/png' as const,
        digest: await client.blob(repository, content),
        size: content.length,
      })),
    ),
    created,
  });
  const put = await client.put(repository, manifest.digest, new TextDecoder().decode(manifest.bytes));
  expect(put.status, await put.text()).toBe(201);
  return manifest.digest as Digest;
}

describe('an image of a README', () => {
  it('is shown when it is attached to the release, until it is deleted', async () => {
    await publish('Shown', '# Shown\n\n![The *flow*](./images/flow.png "title") and ![](missing.png)\n');
    const before = await page('/functions/example.com/Shown');
    expect(before).toContain('The flow <code>./images/flow.png</code> and image <code>missing.png</code>');
    const artifact = await attach('Shown', { 'images/flow.png': PNG, 'other.png': GIF });
    const path = imagePath('Shown', PNG);
    for (const target of ['/functions/example.com/Shown', '/functions/example.com/Shown/releases/1.0.0']) {
      const text = await page(target);
      expect(text).toContain(`<img src="${path}" alt="The flow" loading="lazy">`);
      expect(text).toContain('image <code>missing.png</code>');
      expect(text.match(/<img src="\/functions/g)).toHaveLength(1);
    }
    expect(await page('/functions/example.com/Shown/signatures')).not.toContain('readme-images');
    const deleted = await client.request('DELETE', `${repositoryName('Shown')}/manifests/${artifact}`);
    expect(deleted.status).toBe(202);
    expect(await page('/functions/example.com/Shown')).toBe(before);
    expect((await registry.request(path)).status).toBe(404);
  });

  it('is served with the type of its bytes, and cached by digest', async () => {
    await publish('Served', '![a](a.svg)');
    await attach('Served', { 'a.svg': PNG, 'b.png': SVG });
    const image = await registry.request(imagePath('Served', PNG));
    expect(image.status).toBe(200);
    expect(Buffer.from(await image.arrayBuffer()).equals(PNG)).toBe(true);
    const headers = Object.fromEntries(image.headers);
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${sha256(PNG)}"`,
    });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';.*; sandbox;/);
    const options = { headers: { 'If-None-Match': headers.etag! } };
    expect((await registry.request(imagePath('Served', PNG), options)).status).toBe(304);
    const head = await registry.request(imagePath('Served', PNG), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(PNG.length)]);
    const svg = await registry.request(imagePath('Served', SVG));
    expect(svg.headers.get('content-type')).toBe('image/svg+xml');
    // It has a script, which must not run where a browser opens the image alone.
    expect(svg.headers.get('content-security-policy')).toBe(headers['content-security-policy']);
    expect(headers['content-security-policy']).not.toMatch(/allow-scripts|script-src/);
  });

  it('is text where the file is not an image, too large, or of another function', async () => {
    const html = '<html><script>alert(1)</script></html>';
    const large = new Uint8Array(README_IMAGE_LIMITS.maxBytes + 1);
    large.set(PNG);
    await publish('Refused', '![a](a.png) ![b](b.png) ![c](c.png)');
    await attach('Refused', { 'a.png': html, 'b.png': large });
    await publish('Neighbor', '![c](c.png)');
    await attach('Neighbor', { 'c.png': GIF });
    const text = await page('/functions/example.com/Refused');
    expect(text).toContain('a <code>a.png</code> b <code>b.png</code> c <code>c.png</code>');
    for (const bytes of [html, large, GIF]) {
      expect((await registry.request(imagePath('Refused', bytes))).status).toBe(404);
    }
    expect((await registry.request(imagePath('Neighbor', GIF))).status).toBe(200);
    expect((await registry.request(imagePath('Neighbor', GIF, '9.0.0'))).status).toBe(404);
    expect((await registry.request(`${imagePath('Neighbor', GIF)}0`)).status).toBe(404);
  });

  it('comes from the newest artifact, and first from the manifest of the release', async () => {
    await publish('Newest', '![a](a.png)');
    await attach('Newest', { 'a.png': PNG }, '2026-02-01T00:00:00Z');
    await attach('Newest', { 'a.png': GIF }, '2026-01-01T00:00:00Z');
    expect(await page('/functions/example.com/Newest')).toContain(`src="${imagePath('Newest', PNG)}"`);
    await attach('Newest', { 'a.png': GIF }, '2026-03-01T00:00:00Z');
    expect(await page('/functions/example.com/Newest')).toContain(`src="${imagePath('Newest', GIF)}"`);

    const [text, readme] = [definitionText({ kind: 'Pushed', release: '1.0.0' }), '![a](a.png)'];
    const artifact = definitionArtifact(text, { readme });
    for (const blob of [text, readme, SVG]) await client.blob(repositoryName('Pushed'), blob);
    const layer = { ...descriptor(SVG, 'image/svg+xml'), annotations: { [TITLE]: 'a.png' } };
    const pushed = { ...artifact, layers: [...artifact.layers, layer] };
    expect((await client.put(repositoryName('Pushed'), '1.0.0', pushed)).status).toBe(201);
    await attach('Pushed', { 'a.png': PNG });
    expect(await page('/functions/example.com/Pushed')).toContain(`src="${imagePath('Pushed', SVG)}"`);
  });

  it('is gone with its release, but not with another release that has it', async () => {
    await publish('Gone', '![a](a.png)');
    const secret = `${SVG}<!-- ${'secret'.repeat(10_000)} -->`;
    await attach('Gone', { 'a.png': secret, 'b.png': PNG });
    await publish('Stays', '![a](a.png)');
    await attach('Stays', { 'a.png': PNG });
    // A file and a row.
    for (const bytes of [secret, PNG])
      expect((await registry.request(imagePath('Gone', bytes))).status).toBe(200);
    const takedown = await registry.send(
      'POST',
      `${releasePath({ kind: 'Gone', release: '1.0.0' })}/takedown`,
      { reason: 'shows a password' },
    );
    expect(takedown.status).toBe(200);
    for (const bytes of [PNG, secret]) {
      expect((await registry.request(imagePath('Gone', bytes))).status).toBe(410);
      const blob = await client.request('GET', `${repositoryName('Gone')}/blobs/${sha256(bytes)}`);
      expect(blob.status).toBe(404);
    }
    const { artifacts } = registry.parts;
    expect(await artifacts.get(sha256(PNG))).toBeDefined();
    expect(await artifacts.get(sha256(secret))).toBeUndefined();
    expect(await page('/functions/example.com/Stays')).toContain(`src="${imagePath('Stays', PNG)}"`);
  });
});
