import { artifactManifest, MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../store/sqlite/driver.js';
import {
  definitionArtifact,
  imageManifest,
  indexManifest,
  manifestDigest,
  readError,
  testClient,
} from '../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  type TestDefinition,
  type TestRegistry,
} from '../testing/test-registry.js';

const REPOSITORY = 'functions/example.com/setlabels';
const BAD: TestDefinition = { kind: 'SetLabels', release: '1.0.0', description: 'Bad.' };
const GOOD: TestDefinition = { kind: 'SetLabels', release: '1.1.0' };

let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

const read = (repository: string, reference: string) =>
  client.request('GET', `${repository}/manifests/${reference}`, { authorization: '' });
const blob = (repository: string, digest: OciDigest) =>
  client.request('GET', `${repository}/blobs/${digest}`, { authorization: '' });

const publishWithReadme = (definition: TestDefinition, readme: string) =>
  registry.publish(definition, '?wait=true', { readme });

describe('a release that is published over HTTP', () => {
  it('has an artifact whose bytes follow from the release', async () => {
    await publishWithReadme(BAD, '# R\n');
    const text = definitionText(BAD);
    const expected = artifactManifest({
      type: 'definition',
      files: [
        {
          title: 'definition.yaml',
          mediaType: 'application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml',
          digest: sha256(text),
          size: Buffer.byteLength(text),
        },
        { title: 'README.md', mediaType: 'text/markdown', digest: sha256('# R\n'), size: 4 },
      ],
      annotations: { 'org.opencontainers.image.version': '1.0.0' },
    });
    const response = await read(REPOSITORY, '1.0.0');
    expect(await response.text()).toBe(Buffer.from(expected).toString());
    expect(await (await blob(REPOSITORY, sha256(text))).text()).toBe(text);
    expect(await (await blob(REPOSITORY, sha256('# R\n'))).text()).toBe('# R\n');
    expect((await blob('functions/example.com/other', sha256(text))).status).toBe(404);
  });

  it('is in snapshots that have artifacts, and latest is the newest of them', async () => {
    await registry.publish(BAD);
    await registry.publish(GOOD);
    const tags = await (await client.request('GET', 'catalogs/default/tags/list')).json();
    expect(tags).toEqual({ name: 'catalogs/default', tags: ['1', '2', '3', 'latest'] });
    const latest = await (await read('catalogs/default', 'latest')).text();
    expect(latest).toBe(await (await read('catalogs/default', '3')).text());
    const { artifactType, layers } = JSON.parse(latest) as {
      artifactType: string;
      layers: { digest: OciDigest; size: number }[];
    };
    expect(artifactType).toBe('application/vnd.cncf.kubernetes.krm-func-catalog.v1');
    const catalog = await (await registry.request('/catalogs/default/catalog.yaml')).text();
    expect(layers).toMatchObject([{ digest: sha256(catalog), size: Buffer.byteLength(catalog) }]);
    expect(await (await blob('catalogs/default', sha256(catalog))).text()).toBe(catalog);
    for (const reference of ['latest', '3', manifestDigest(latest)]) {
      const refused = await readError(
        await client.request('DELETE', `catalogs/default/manifests/${reference}`),
      );
      expect(refused).toMatchObject({ status: 403, code: 'DENIED' });
    }
  });

  it('gets missing artifacts for itself and its snapshots at the start', async () => {
    await publishWithReadme(BAD, '# R\n');
    await registry.publish(GOOD);
    const names = [
      [REPOSITORY, '1.0.0'],
      [REPOSITORY, '1.1.0'],
      ['catalogs/default', 'latest'],
      ['catalogs/default', '3'],
    ] as const;
    const texts = () => Promise.all(names.map(async ([name, tag]) => (await read(name, tag)).text()));
    const before = await texts();
    await registry.parts.snapshotBuilder.stop();
    const database = new Database(`${registry.folder}/registry.db`);
    for (const table of ['reference', 'tag', 'manifest', 'blob', 'repository'])
      database.exec(`DELETE FROM oci_${table}`);
    // As in the database of a version without artifacts.
    database.exec(`DELETE FROM setting WHERE name = 'release-artifacts'`);
    database.close();
    expect((await read(REPOSITORY, '1.0.0')).status).toBe(404);
    registry = await registry.reopen();
    expect(await texts()).toEqual(before);
    expect(await (await blob(REPOSITORY, sha256('# R\n'))).text()).toBe('# R\n');
    expect((await read('catalogs/default', '2')).status).toBe(404);
    const tags = await (await client.request('GET', `${REPOSITORY}/tags/list`)).json();
    registry = await registry.reopen();
    expect(await (await client.request('GET', `${REPOSITORY}/tags/list`)).json()).toEqual(tags);
    expect(registry.logged.filter((line) => line.includes('artifacts made'))).toEqual([]);
  });
});

describe('a release that is taken down', () => {
  it('is deleted by tag, its bytes from every repository, and other releases stay', async () => {
    const text = definitionText(BAD);
    await registry.publish(GOOD);
    await client.blob(REPOSITORY, text);
    const artifact = definitionArtifact(BAD);
    expect((await client.put(REPOSITORY, '1.0.0', artifact)).status).toBe(201);
    const second = definitionArtifact(BAD, { annotations: { a: 'b' } });
    expect((await client.put(REPOSITORY, manifestDigest(second), second)).status).toBe(201);
    await client.image('team/copy', 'v1', [text, 'other']);
    await client.image('team/copy', 'v2', ['other']);
    await client.blob('team/alias', text, 'sha512');
    await registry.waitForCatalogs();
    expect((await registry.takeDown(BAD)).body.repositories).toEqual(['team/alias', 'team/copy']);

    for (const tag of ['1.0.0', 'v1.0']) {
      const gone = await readError(await read(REPOSITORY, tag));
      expect([gone.status, gone.code]).toEqual([410, 'MANIFEST_UNKNOWN']);
      expect(gone.message).toContain('holds a password');
      expect((await client.request('HEAD', `${REPOSITORY}/manifests/${tag}`)).status).toBe(410);
    }
    const goneBlob = await readError(await blob(REPOSITORY, sha256(text)));
    expect([goneBlob.status, goneBlob.code]).toEqual([410, 'BLOB_UNKNOWN']);
    for (const manifest of [artifact, second])
      expect((await read(REPOSITORY, manifestDigest(manifest))).status).toBe(404);
    expect((await read('team/copy', 'v1')).status).toBe(404);
    expect((await blob('team/copy', sha256(text))).status).toBe(404);
    expect((await read('team/copy', 'v2')).status).toBe(200);
    expect((await blob('team/copy', sha256('other'))).status).toBe(200);
    expect((await read(REPOSITORY, '1.1.0')).status).toBe(200);
    expect(await registry.parts.store.countBytes('team/alias')).toBe(0);
    const { artifacts } = registry.parts;
    expect(await artifacts.get(sha256(text))).toBeUndefined();
    expect(await artifacts.get(sha256('other'))).toEqual(Buffer.from('other'));
  });

  it('cannot be pushed again: not its bytes, its name, or a manifest that names them', async () => {
    const text = definitionText(BAD);
    await registry.publish(BAD);
    await registry.takeDown(BAD);
    for (const repository of [REPOSITORY, 'team/copy']) {
      const target = `${repository}/blobs/uploads/?digest=${sha256(text)}`;
      const refused = await readError(await client.request('POST', target, { body: text }));
      expect([refused.status, refused.code]).toEqual([410, 'DENIED']);
      // The token may not be one that reads the function.
      expect(refused.message).toContain(`${sha256(text)} was taken down. The registry`);
      expect(refused.message).not.toContain('holds a password');
      const naming = await readError(await client.put(repository, 'v9.0.0', imageManifest([text])));
      expect(naming.status).not.toBe(201);
    }
    await client.blob(REPOSITORY, definitionText(GOOD));
    const name = await readError(await client.put(REPOSITORY, '1.0.0', definitionArtifact(GOOD)));
    expect(name).toMatchObject({
      status: 403,
      code: 'DENIED',
      detail: { takedowns: [{ release: '1.0.0', reason: 'holds a password' }] },
    });
    await registry.parts.collector.stop();
    const { artifacts } = registry.parts;
    expect(await artifacts.get(sha256(text))).toBeUndefined();
    expect(await artifacts.get(sha256(definitionText(GOOD)))).toBeDefined();
  });

  it('withdraws snapshots, and latest is the next snapshot', async () => {
    await registry.publish(GOOD);
    await registry.publish({ ...BAD, kind: 'Other' });
    const snapshot = await (await read('catalogs/default', '3')).text();
    const layer = (JSON.parse(snapshot) as { layers: { digest: OciDigest }[] }).layers[0]!.digest;
    await client.image('team/mirror', 'v1', [
      await (await registry.request('/catalogs/default/catalog.yaml')).text(),
    ]);
    await registry.takeDown({ ...BAD, kind: 'Other' });
    const gone = await readError(await read('catalogs/default', '3'));
    expect([gone.status, gone.code]).toEqual([410, 'MANIFEST_UNKNOWN']);
    expect(gone.message).toContain('snapshot 3 was withdrawn: holds a password');
    expect((await blob('catalogs/default', layer)).status).toBe(410);
    expect((await read('team/mirror', 'v1')).status).toBe(404);
    const latest = await (await read('catalogs/default', 'latest')).text();
    expect(latest).toBe(await (await read('catalogs/default', '4')).text());
    expect((await read('catalogs/default', '2')).status).toBe(200);
  });

  it('leaves a README intact that other releases share', async () => {
    await publishWithReadme(BAD, '{}');
    await client.blob('team/tools', '{}');
    await client.image('team/tools', 'v1', ['layer']);
    await client.put('team/tools', 'index', indexManifest([imageManifest(['layer'])]), {
      type: MEDIA_TYPES.index,
    });
    await registry.takeDown(BAD);
    expect((await read('team/tools', 'v1')).status).toBe(200);
    for (const repository of ['team/tools', REPOSITORY])
      expect(await (await blob(repository, sha256('{}'))).text()).toBe('{}');
  });
});
