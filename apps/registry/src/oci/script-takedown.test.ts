import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RevocationPage } from '@krmhub/api/model';
import { ARTIFACT_MEDIA_TYPES, computeDigest, MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { descriptor, EMPTY_DESCRIPTOR, manifestDigest, readError, testClient } from '../testing/oci.js';
import { openTestRegistry, type TestDefinition, type TestRegistry } from '../testing/test-registry.js';

const REPOSITORY = 'scripts/example.com/set-owner';
const COPY = 'mirror/scripts';
const SCRIPT = 'print("the password is hunter2")\n';

let registry: TestRegistry;
const client = testClient(() => registry);
const { artifact, layer } = ARTIFACT_MEDIA_TYPES.starlark;
const manifest = (script: string, created = '2030-01-01T00:00:00Z') => ({
  schemaVersion: 2,
  mediaType: MEDIA_TYPES.image,
  artifactType: artifact,
  config: EMPTY_DESCRIPTOR,
  layers: [descriptor(script, layer)],
  annotations: { 'org.opencontainers.image.created': created },
});
const push = async (repository: string, script: string, created?: string): Promise<Response> => {
  await client.blob(repository, '{}');
  await client.blob(repository, script);
  const one = manifest(script, created);
  return client.put(repository, manifestDigest(one), one);
};
const read = (what: 'manifests' | 'blobs', digest: OciDigest, repository = REPOSITORY) =>
  client.request('GET', `${repository}/${what}/${digest}`, { authorization: '' });
const release = (kind: string, script: string, name = '1.0.0', created?: string): TestDefinition => ({
  kind,
  release: name,
  script: `oci://localhost:8080/${REPOSITORY}@${manifestDigest(manifest(script, created))}`,
});
const named = (kind: string, digest: OciDigest): TestDefinition => ({
  kind,
  release: '1.0.0',
  script: `oci://localhost:8080/${REPOSITORY}@${digest}`,
});
const sha512 = (content: string) => computeDigest(Buffer.from(content), `sha512:${'0'.repeat(128)}`);
/** By both digests. */
async function pushBoth(repository: string, script: string): Promise<void> {
  await client.blob(repository, '{}');
  await client.blob(repository, script);
  await client.blob(repository, script, 'sha512');
}
const takeDown = async (definition: TestDefinition, query = '') =>
  (await registry.takeDown(definition, query)).body;

beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

describe('a takedown of a release with a Starlark script', () => {
  const digest = manifestDigest(manifest(SCRIPT));
  const file = descriptor(SCRIPT).digest;

  beforeEach(async () => {
    for (const repository of [REPOSITORY, COPY]) expect((await push(repository, SCRIPT)).status).toBe(201);
    expect((await registry.publish(release('SetOwner', SCRIPT))).status).toBe(201);
  });

  it('names the script in a dry run, and deletes it from every repository', async () => {
    const preview = await takeDown(release('SetOwner', SCRIPT), '?dryRun=true');
    expect(preview.scripts).toEqual([{ digest, keptBy: [] }]);
    expect(preview.repositories).toEqual([COPY, REPOSITORY]);
    expect((await read('manifests', digest)).status).toBe(200);
    expect(await takeDown(release('SetOwner', SCRIPT))).toMatchObject({
      scripts: preview.scripts,
      repositories: preview.repositories,
      erased: true,
    });
    for (const repository of [REPOSITORY, COPY]) {
      for (const [what, one] of [
        ['manifests', digest],
        ['blobs', file],
      ] as const) {
        expect(await readError(await read(what, one, repository))).toMatchObject({
          status: 410,
          message: 'the script of example.com/SetOwner@1.0.0 was taken down: holds a password',
        });
      }
    }
    for (const name of ['registry.db', 'registry.db-wal'])
      expect((await readFile(path.join(registry.folder, name))).includes('hunter2'), name).toBe(false);
  });

  it('tells mirrors, and keeps the digests in the record', async () => {
    await takeDown(release('SetOwner', SCRIPT));
    const { revocations } = (await (await registry.request('/api/v1/revocations')).json()) as RevocationPage;
    const [revoked] = revocations.filter(({ type }) => type === 'release.taken-down');
    expect(revoked!.scripts?.toSorted()).toEqual([digest, file].toSorted());
    const record = await readFile(path.join(registry.folder, 'takedowns.jsonl'), 'utf8');
    expect(JSON.parse(record).scripts.toSorted()).toEqual([digest, file].toSorted());
  });

  it('does not accept the script again, also in another manifest', async () => {
    await takeDown(release('SetOwner', SCRIPT));
    const refused = await client.request('POST', `${COPY}/blobs/uploads/?digest=${file}`, { body: SCRIPT });
    expect(await readError(refused)).toMatchObject({ status: 410 });
    await client.blob(COPY, '{}');
    for (const one of [manifest(SCRIPT), manifest(SCRIPT, '2031-01-01T00:00:00Z')]) {
      const again = await client.put(COPY, manifestDigest(one), one);
      expect(await readError(again)).toMatchObject({ status: 410 });
    }
    expect((await push(REPOSITORY, 'print("fixed")\n')).status).toBe(201);
  });

  it('keeps a script that another release uses, until that is taken down too', async () => {
    // The same file in another manifest.
    const created = '2031-01-01T00:00:00Z';
    expect((await push(REPOSITORY, SCRIPT, created)).status).toBe(201);
    expect((await registry.publish(release('Other', SCRIPT, '2.0.0', created))).status).toBe(201);
    const keptBy = [{ group: 'example.com', kind: 'Other', release: '2.0.0' }];
    expect((await takeDown(release('SetOwner', SCRIPT), '?dryRun=true')).scripts).toEqual([
      { digest, keptBy },
    ]);
    expect((await takeDown(release('SetOwner', SCRIPT))).scripts).toEqual([{ digest, keptBy }]);
    expect((await read('manifests', digest)).status).toBe(200);
    expect((await read('blobs', file)).status).toBe(200);
    const last = await takeDown(release('Other', SCRIPT, '2.0.0', created));
    expect(last.scripts).toEqual([{ digest: manifestDigest(manifest(SCRIPT, created)), keptBy: [] }]);
    expect((await read('manifests', digest)).status).toBe(410);
    expect((await read('blobs', file)).status).toBe(410);
  });

  it('is repeated with its script after a restore of an older database', async () => {
    await takeDown(release('SetOwner', SCRIPT));
    const record = await readFile(path.join(registry.folder, 'takedowns.jsonl'));
    await registry.close();
    registry = await openTestRegistry();
    expect((await push(REPOSITORY, SCRIPT)).status).toBe(201);
    expect((await registry.publish(release('SetOwner', SCRIPT))).status).toBe(201);
    await writeFile(path.join(registry.folder, 'takedowns.jsonl'), record);
    registry = await registry.reopen();
    expect((await read('manifests', digest)).status).toBe(410);
    expect((await read('blobs', file)).status).toBe(410);
  });

  it('keeps its tombstone after a restore of a database from before the push', async () => {
    await takeDown(release('SetOwner', SCRIPT));
    const record = await readFile(path.join(registry.folder, 'takedowns.jsonl'));
    await registry.close();
    registry = await openTestRegistry();
    await writeFile(path.join(registry.folder, 'takedowns.jsonl'), record);
    registry = await registry.reopen();
    expect((await read('manifests', digest)).status).toBe(410);
    const again = await client.request('POST', `${COPY}/blobs/uploads/?digest=${file}`, { body: SCRIPT });
    expect(again.status).toBe(410);
    expect(await readFile(path.join(registry.folder, 'takedowns.jsonl'))).toEqual(record);
  });

  it('keeps a recorded script that another release of the older database runs', async () => {
    await takeDown(release('SetOwner', SCRIPT));
    const record = await readFile(path.join(registry.folder, 'takedowns.jsonl'));
    await registry.close();
    registry = await openTestRegistry();
    expect((await push(REPOSITORY, SCRIPT)).status).toBe(201);
    expect((await registry.publish(release('Other', SCRIPT))).status).toBe(201);
    await writeFile(path.join(registry.folder, 'takedowns.jsonl'), record);
    registry = await registry.reopen();
    expect((await read('manifests', digest)).status).toBe(200);
    expect((await read('blobs', file)).status).toBe(200);
  });

  it.each([
    ['has no type but that of its layer', (one: string) => ({ ...manifest(one), artifactType: undefined })],
    ['has another type', (one: string) => ({ ...manifest(one), artifactType: 'application/x-other' })],
    [
      'names its layer by SHA-512',
      (one: string) => ({ ...manifest(one), layers: [{ ...descriptor(one, layer), digest: sha512(one) }] }),
    ],
  ])('deletes a script whose manifest %s', async (_, made) => {
    const script = 'print("another password")\n';
    const one = made(script);
    await pushBoth(REPOSITORY, script);
    expect((await client.put(REPOSITORY, manifestDigest(one), one)).status).toBe(201);
    const bad = named('Bad', manifestDigest(one));
    expect((await registry.publish(bad)).status).toBe(201);
    expect((await takeDown(bad)).scripts).toEqual([{ digest: manifestDigest(one), keptBy: [] }]);
    expect((await read('manifests', manifestDigest(one))).status).toBe(410);
    expect((await read('blobs', descriptor(script).digest)).status).toBe(410);
    expect((await read('blobs', sha512(script))).status).toBe(404);
    for (const digest of [descriptor(script).digest, sha512(script)]) {
      const again = await client.request('POST', `${COPY}/blobs/uploads/?digest=${digest}`, { body: script });
      expect(again.status).toBe(410);
    }
  });

  it('deletes a script that an index names', async () => {
    const script = 'print("another password")\n';
    await push(REPOSITORY, script);
    const inside = { ...descriptor(JSON.stringify(manifest(script)), MEDIA_TYPES.image) };
    const index = {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.index,
      manifests: [{ ...inside, platform: { os: 'linux', architecture: 'amd64' } }],
    };
    expect((await client.put(REPOSITORY, manifestDigest(index), index)).status).toBe(201);
    const bad = named('Bad', manifestDigest(index));
    expect((await registry.publish(bad)).status).toBe(201);
    expect((await takeDown(bad)).scripts).toEqual([{ digest: manifestDigest(index), keptBy: [] }]);
    for (const one of [manifestDigest(index), inside.digest])
      expect((await read('manifests', one)).status).toBe(410);
    expect((await read('blobs', descriptor(script).digest)).status).toBe(410);
    const again = await client.request('POST', `${COPY}/blobs/uploads/?digest=${descriptor(script).digest}`, {
      body: script,
    });
    expect(again.status).toBe(410);
  });

  it('keeps the other files that the artifact of a script names where others have them', async () => {
    const script = 'print("malware")\n';
    const theirs = 'a layer of someone else';
    const app = { ...manifest(''), artifactType: 'application/x-other', layers: [descriptor(theirs)] };
    await client.blob('team/app', '{}');
    await client.blob('team/app', theirs);
    expect((await client.put('team/app', manifestDigest(app), app)).status).toBe(201);
    await client.blob(REPOSITORY, '{}');
    await client.blob(REPOSITORY, script);
    await client.blob(REPOSITORY, theirs);
    const one = { ...manifest(script), layers: [descriptor(script, layer), descriptor(theirs)] };
    expect((await client.put(REPOSITORY, manifestDigest(one), one)).status).toBe(201);
    const bad = named('Bad', manifestDigest(one));
    expect((await registry.publish(bad)).status).toBe(201);
    const taken = await takeDown(bad);
    expect(taken.repositories).not.toContain('team/app');
    expect((await read('blobs', descriptor(script).digest)).status).toBe(410);
    expect((await read('manifests', manifestDigest(app), 'team/app')).status).toBe(200);
    expect((await read('blobs', descriptor(theirs).digest, 'team/app')).status).toBe(200);
    expect((await read('blobs', descriptor(theirs).digest)).status).toBe(404);
    expect((await client.put('team/app', 'again', app)).status).toBe(201);
  });

  it('deletes nothing else that the definition names', async () => {
    const image = await client.blob('team/app', 'someone else');
    const other = {
      ...manifest(''),
      artifactType: 'application/x-other',
      layers: [descriptor('someone else')],
    };
    await client.blob('team/app', '{}');
    expect((await client.put('team/app', manifestDigest(other), other)).status).toBe(201);
    const bad: TestDefinition = {
      kind: 'Bad',
      release: '1.0.0',
      script: `oci://localhost:8080/team/app@${manifestDigest(other)}`,
    };
    expect((await registry.publish(bad)).status).toBe(201);
    expect((await takeDown(bad)).scripts).toEqual([]);
    expect((await read('manifests', manifestDigest(other), 'team/app')).status).toBe(200);
    expect((await read('blobs', image, 'team/app')).status).toBe(200);
  });

  it('is deleted if the definition names it by its tag, and not accepted again', async () => {
    expect((await client.put(REPOSITORY, 'v1', manifest(SCRIPT))).status).toBe(201);
    await takeDown(release('SetOwner', SCRIPT), '?dryRun=true');
    const script = `oci://localhost:8080/${REPOSITORY}:v1`;
    expect((await registry.publish({ kind: 'ByTag', release: '1.0.0', script })).status).toBe(201);
    // The tag is a use: it names the same manifest.
    const byTag = [{ group: 'example.com', kind: 'ByTag', release: '1.0.0' }];
    expect((await takeDown(release('SetOwner', SCRIPT))).scripts).toEqual([{ digest, keptBy: byTag }]);
    const preview = await takeDown({ kind: 'ByTag', release: '1.0.0' }, '?dryRun=true');
    expect(preview).toMatchObject({ scripts: [{ digest, keptBy: [] }], repositories: [COPY, REPOSITORY] });
    await takeDown({ kind: 'ByTag', release: '1.0.0' });
    expect((await client.request('GET', `${REPOSITORY}/manifests/v1`)).status).toBe(404);
    for (const repository of [REPOSITORY, COPY]) {
      expect((await read('manifests', digest, repository)).status).toBe(410);
      expect((await read('blobs', file, repository)).status).toBe(410);
    }
    expect(await readError(await client.put(COPY, 'v2', manifest(SCRIPT)))).toMatchObject({ status: 410 });
  });

  it('is not kept by a release that only mentions its digest', async () => {
    const mention = { kind: 'Mention', release: '1.0.0', description: `Not ${digest}, ${file}.` };
    expect((await registry.publish(mention)).status).toBe(201);
    expect((await takeDown(release('SetOwner', SCRIPT))).scripts).toEqual([{ digest, keptBy: [] }]);
    expect((await read('manifests', digest)).status).toBe(410);
  });

  it('is kept by a release with its file as the README, which is named', async () => {
    const published = await registry.publish({ kind: 'Reader', release: '1.0.0' }, '', { readme: SCRIPT });
    expect(published.status).toBe(201);
    const keptBy = [{ group: 'example.com', kind: 'Reader', release: '1.0.0' }];
    expect((await takeDown(release('SetOwner', SCRIPT), '?dryRun=true')).scripts).toEqual([
      { digest, keptBy },
    ]);
    expect((await takeDown(release('SetOwner', SCRIPT))).scripts).toEqual([{ digest, keptBy }]);
  });

  it('is deleted if the definition names its file at another address', async () => {
    const script = `https://example.com/set-owner.star#sha256=${file.slice('sha256:'.length)}`;
    expect((await registry.publish({ kind: 'Elsewhere', release: '1.0.0', script })).status).toBe(201);
    const keptBy = [{ group: 'example.com', kind: 'Elsewhere', release: '1.0.0' }];
    expect((await takeDown(release('SetOwner', SCRIPT))).scripts).toEqual([{ digest, keptBy }]);
    const last = await takeDown({ kind: 'Elsewhere', release: '1.0.0' });
    expect(last.scripts).toEqual([{ digest: file, keptBy: [] }]);
    expect((await read('manifests', digest)).status).toBe(410);
  });
});
