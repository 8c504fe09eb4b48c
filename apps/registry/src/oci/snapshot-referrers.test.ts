import { BUNDLE_LIMITS } from '@krmhub/catalog';
import { bundleManifest, computeDigest, MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { BUNDLE_MEDIA_TYPE, sha256 } from '@krmhub/schema';
import { signatureStatement } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EMPTY_DESCRIPTOR, imageManifest, manifestDigest, readError, testClient } from '../testing/oci.js';
import { newKey, signedBy } from '../testing/signing.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const REPOSITORY = 'catalogs/default';
const MOST = BUNDLE_LIMITS.maxReferrersPerSnapshot;
const key = newKey();

let registry: TestRegistry;
let signer: string;
let other: string;
const client = testClient(
  () => registry,
  () => signer,
);
const admin = testClient(() => registry);
let snapshot: { digest: OciDigest; size: number; layer: OciDigest };

beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const token = async (name: string) =>
    `Bearer ${(await registry.token({ name, scopes: ['push'], repositories: ['catalogs/*'] })).secret}`;
  [signer, other] = [await token('signer'), await token('other')];
  const read = await client.request('GET', `${REPOSITORY}/manifests/latest`);
  const text = await read.text();
  const { layers } = JSON.parse(text) as { layers: { digest: OciDigest }[] };
  snapshot = { digest: manifestDigest(text), size: Buffer.byteLength(text), layer: layers[0]!.digest };
});
afterEach(() => registry.close());

let count = 0;
const bundleOf = (digests: Record<string, string>) => signedBy(key, signatureStatement(digests));

/** Pushes bytes as a bundle that refers to the snapshot. */
async function pushBundle(
  bytes: Uint8Array,
  { subject = snapshot.digest, as = signer }: { subject?: OciDigest; as?: string } = {},
): Promise<Response> {
  const manifest = bundleManifest({
    subject: { mediaType: MEDIA_TYPES.image, digest: subject, size: snapshot.size },
    bundle: { digest: computeDigest(bytes), size: bytes.byteLength },
    predicateType: 'https://example.com/',
    created: new Date(1_900_000_000_000 + 1_000 * count++).toISOString(),
  });
  await client.blob(REPOSITORY, bytes);
  return client.put(REPOSITORY, manifest.digest, new TextDecoder().decode(manifest.bytes), {
    type: MEDIA_TYPES.image,
    authorization: as,
  });
}

async function referrers(query = ''): Promise<{ digest: OciDigest; artifactType: string }[]> {
  const found: { digest: OciDigest; artifactType: string }[] = [];
  for (let next: string | undefined = `${REPOSITORY}/referrers/${snapshot.digest}${query}`; next; ) {
    const page: Response = await client.request('GET', next, { authorization: '' });
    found.push(...((await page.json()) as { manifests: [] }).manifests);
    next = /^<\/v2\/(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return found;
}

/** Writes directly to the store what an older version of the registry accepted. */
async function storeReferrers(howMany: number, annotations: (at: number) => object): Promise<void> {
  for (let at = 0; at < howMany; at++) {
    const bytes = new TextEncoder().encode(JSON.stringify({ at }));
    const record = {
      digest: sha256(bytes),
      mediaType: MEDIA_TYPES.image,
      size: bytes.byteLength,
      bytes,
      references: [],
      subject: snapshot.digest,
      artifactType: BUNDLE_MEDIA_TYPE,
      annotations: annotations(at) as Record<string, string>,
    };
    const change = { at: registry.parts.clock().toISOString(), by: 'signer', needed: [] };
    await registry.parts.store.putManifest(REPOSITORY, record, change);
  }
}

describe('a referrer of a snapshot', () => {
  it('is accepted as a signature of the manifest, or of the catalog in it', async () => {
    expect((await pushBundle(await bundleOf({ manifest: snapshot.digest }))).status).toBe(201);
    expect((await pushBundle(await bundleOf({ 'catalog.yaml': snapshot.layer }))).status).toBe(201);
    expect(await referrers()).toHaveLength(3);
  });

  it.each<[string, () => Promise<Uint8Array> | Uint8Array, string]>([
    ['is not JSON', () => new TextEncoder().encode('junk'), 'it is not valid JSON'],
    ['is empty', () => new TextEncoder().encode('{}'), 'it has no mediaType'],
    ['signs something else', () => bundleOf({ manifest: sha256('x') }), 'subject: '],
    ['is too large', () => new Uint8Array(BUNDLE_LIMITS.maxBytes + 1), `exceeds ${BUNDLE_LIMITS.maxBytes}`],
  ])('is refused if it %s', async (_, bundle, message) => {
    const before = await referrers();
    const refused = await readError(await pushBundle(await bundle()));
    expect(refused).toMatchObject({ status: 403, code: 'DENIED', message: expect.stringContaining(message) });
    expect(await referrers()).toEqual(before);
  });

  it('is refused if it has the type of a bundle, and not one bundle', async () => {
    const good = new TextDecoder().decode(await bundleOf({ manifest: snapshot.digest }));
    const subject = { mediaType: MEDIA_TYPES.image, digest: snapshot.digest, size: snapshot.size };
    await client.blob(REPOSITORY, good);
    await client.blob(REPOSITORY, 'junk');
    const layer = (text: string, mediaType: string) => ({
      mediaType,
      digest: sha256(text),
      size: Buffer.byteLength(text),
    });
    const typed = layer(good, BUNDLE_MEDIA_TYPE);
    for (const manifest of [
      imageManifest([], { subject, artifactType: BUNDLE_MEDIA_TYPE }),
      imageManifest([], { subject, artifactType: BUNDLE_MEDIA_TYPE, layers: [layer('junk', 'text/plain')] }),
      imageManifest([], { subject, layers: [typed, typed] }),
      imageManifest([], { subject, layers: [typed, layer('junk', 'text/plain')] }),
      imageManifest([], { subject, config: { ...EMPTY_DESCRIPTOR, mediaType: BUNDLE_MEDIA_TYPE } }),
      {
        schemaVersion: 2,
        mediaType: MEDIA_TYPES.index,
        manifests: [],
        subject,
        artifactType: BUNDLE_MEDIA_TYPE,
      },
    ]) {
      const refused = await readError(await client.put(REPOSITORY, manifestDigest(manifest), manifest));
      expect(refused).toMatchObject({
        code: 'DENIED',
        message: expect.stringContaining(`expected one layer of the type ${BUNDLE_MEDIA_TYPE}`),
      });
    }
    const plain = imageManifest(['junk'], { subject, artifactType: 'application/spdx+json' });
    expect((await client.put(REPOSITORY, manifestDigest(plain), plain)).status).toBe(201);
  });

  it('is refused if there are many, from any number of clients at a time, except again', async () => {
    const bundles = await Promise.all(
      Array.from({ length: MOST + 8 }, () => bundleOf({ manifest: snapshot.digest })),
    );
    const statuses = await Promise.all(bundles.map(async (one) => (await pushBundle(one)).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(MOST - 1);
    const listed = await referrers();
    expect(listed).toHaveLength(MOST);
    const refused = await readError(await pushBundle(await bundleOf({ manifest: snapshot.digest })));
    expect(refused).toMatchObject({
      code: 'DENIED',
      message: expect.stringContaining(`has reached the limit of ${MOST} referrers`),
    });
    const last = listed.at(-1)!.digest;
    const again = await client.request('GET', `${REPOSITORY}/manifests/${last}`);
    const text = await again.text();
    expect((await client.put(REPOSITORY, last, text, { type: MEDIA_TYPES.image })).status).toBe(201);
    expect((await client.request('DELETE', `${REPOSITORY}/manifests/${last}`)).status).toBe(202);
    expect((await pushBundle(await bundleOf({ manifest: snapshot.digest }))).status).toBe(201);
    // The next snapshot has its own.
    await registry.publish({ kind: 'Other', release: '1.0.0' });
    const { digest } = (await registry.parts.store.manifestDescriptor(REPOSITORY, 'latest'))!;
    expect(digest).not.toBe(snapshot.digest);
    expect((await pushBundle(await bundleOf({ manifest: digest }), { subject: digest })).status).toBe(201);
  });

  it('is deleted only by the token that pushed it, or by an administrator', async () => {
    const push = async () => {
      const pushed = await pushBundle(await bundleOf({ manifest: snapshot.digest }));
      return `${REPOSITORY}/manifests/${pushed.headers.get('docker-content-digest')}`;
    };
    const target = await push();
    const refused = await readError(await client.request('DELETE', target, { authorization: other }));
    expect(refused).toMatchObject({ code: 'DENIED', message: expect.stringContaining('another token') });
    expect((await client.request('DELETE', target)).status).toBe(202);
    expect((await admin.request('DELETE', await push())).status).toBe(202);
  });
});

describe("the registry's signature of a snapshot", () => {
  const own = async () => (await referrers())[0]!.digest;

  it('cannot be deleted, also by an administrator', async () => {
    const digest = await own();
    for (const to of [client, admin]) {
      const refused = await readError(await to.request('DELETE', `${REPOSITORY}/manifests/${digest}`));
      expect(refused).toMatchObject({
        code: 'DENIED',
        message: expect.stringContaining('cannot delete the signature of a snapshot'),
      });
    }
    expect(await own()).toBe(digest);
  });

  it('is first and once in the list, with and without a filter, whatever others pushed before', async () => {
    const digest = await own();
    await storeReferrers(150, () => ({}));
    for (const query of ['', `?artifactType=${encodeURIComponent(BUNDLE_MEDIA_TYPE)}`]) {
      const listed = (await referrers(query)).map((one) => one.digest);
      expect([listed.length, new Set(listed).size, listed[0]]).toEqual([151, 151, digest]);
      expect(listed.slice(1)).toEqual(listed.slice(1).sort());
    }
    expect(await referrers('?artifactType=text/plain')).toEqual([]);
  });

  it('is first and once where each page has one referrer', async () => {
    const digest = await own();
    await storeReferrers(3, () => ({ large: 'x'.repeat(4_200_000) }));
    const first = await client.request('GET', `${REPOSITORY}/referrers/${snapshot.digest}`);
    const page = (await first.json()) as { manifests: { digest: string }[] };
    expect([page.manifests.length, page.manifests[0]!.digest]).toEqual([1, digest]);
    const listed = (await referrers()).map((one) => one.digest);
    expect([listed.length, new Set(listed).size, listed[0]]).toEqual([4, 4, digest]);
  });
});
