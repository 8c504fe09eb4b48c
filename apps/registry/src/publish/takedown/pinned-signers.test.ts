import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RevocationPage } from '@krmhub/api/model';
import { bundleManifest, computeDigest, MEDIA_TYPES, VERSION } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { releaseStatement } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRegistry } from '../../operate/check/check.js';
import { dataPaths } from '../../store/data-folder.js';
import { Database } from '../../store/sqlite/driver.js';
import { definitionArtifact, manifestDigest, readError, testClient } from '../../testing/oci.js';
import { newKey, policy, signedBy, type TestKey } from '../../testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { restoreTakedowns } from './restore.js';

const KIND = 'SetLabels';
const REPOSITORY = 'functions/example.com/setlabels';
const owner = newKey();
const thief = newKey();

let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const text = (release: string) => definitionText({ kind: KIND, release });
const findArtifact = (release: string) =>
  definitionArtifact(text(release), { annotations: { [VERSION]: release } });

function signature(key: TestKey, release: string): Promise<Uint8Array> {
  const name = { group: 'example.com', kind: KIND, release };
  const digests = { definition: sha256(text(release)), manifest: manifestDigest(findArtifact(release)) };
  return signedBy(key, releaseStatement(name, digests));
}

/** With a signature of the definition alone: the manifest that the registry makes is another one than `findArtifact`. */
async function publish(release: string, key?: TestKey): Promise<{ status: number; detail: string }> {
  const statement = releaseStatement(
    { group: 'example.com', kind: KIND, release },
    { definition: sha256(text(release)) },
  );
  const bundles = key === undefined ? [] : [await signedBy(key, statement)];
  const { status, body } = await registry.publish({ kind: KIND, release }, '', { bundles });
  return { status, detail: body.detail ?? '' };
}

const attach = async (key: TestKey, release: string) =>
  (await registry.attach({ kind: KIND, release }, await signature(key, release))).status;
const takedown = async (release: string, query = '') =>
  (await registry.takeDown({ kind: KIND, release }, query)).body;

/** Pushes a release as an OCI client does: its manifest by digest, a bundle, then the tag. */
async function pushTag(release: string, key?: TestKey): Promise<Response> {
  const manifest = findArtifact(release);
  const digest = manifestDigest(manifest);
  await client.blob(REPOSITORY, '{}');
  await client.blob(REPOSITORY, text(release));
  await client.put(REPOSITORY, digest, manifest);
  if (key !== undefined) {
    const bundle = await signature(key, release);
    await client.blob(REPOSITORY, bundle);
    const referrer = bundleManifest({
      subject: { mediaType: MEDIA_TYPES.image, digest, size: JSON.stringify(manifest).length },
      bundle: { digest: computeDigest(bundle), size: bundle.byteLength },
      predicateType: 'https://krmhub.dev/release/v1',
      created: '2030-01-02T03:04:05Z',
    });
    const body = Buffer.from(referrer.bytes).toString('utf8');
    expect((await client.put(REPOSITORY, referrer.digest, body, { type: MEDIA_TYPES.image })).status).toBe(
      201,
    );
  }
  return client.put(REPOSITORY, release, manifest);
}

/** Only the owner can publish 2.0.0. */
async function expectOnlyOwner(): Promise<void> {
  for (const key of [undefined, thief]) {
    const { status, detail } = await publish('2.0.0', key);
    expect([status, detail]).toEqual([
      422,
      expect.stringContaining(`signed by the key ${owner.fingerprint}`),
    ]);
  }
  expect((await publish('2.0.0', owner)).status).toBe(201);
}

describe('the signer of a release that is taken down', () => {
  it('stays required, with an unsigned release beside it', async () => {
    expect((await publish('0.9.0')).status).toBe(201);
    expect((await publish('1.0.0', owner)).status).toBe(201);
    const { takedowns } = await takedown('1.0.0');
    expect(takedowns).toMatchObject([{ signers: [{ type: 'key', fingerprint: owner.fingerprint }] }]);
    expect(await attach(thief, '0.9.0')).toBe(422);
    await expectOnlyOwner();
  });

  it('stays required where no release is left, and after a restart', async () => {
    await publish('1.0.0', owner);
    expect((await takedown('1.0.0', '?dryRun=true')).takedowns).toMatchObject([
      { signers: [{ type: 'key', fingerprint: owner.fingerprint }] },
    ]);
    await takedown('1.0.0');
    expect((await publish('1.1.0', thief)).status).toBe(422);
    registry = await registry.reopen();
    await expectOnlyOwner();
  });

  it('stays required of a kind that differs by case', async () => {
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    const response = await registry.publish({ kind: 'Setlabels', release: '3.0.0' });
    expect(response.status).toBe(422);
  });

  it('stays required of a tag that is pushed', async () => {
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    for (const [release, key] of [
      ['2.0.0', undefined],
      ['2.1.0', thief],
    ] as const) {
      expect(await readError(await pushTag(release, key))).toMatchObject({
        code: 'DENIED',
        message: expect.stringContaining(owner.fingerprint),
      });
    }
    expect((await pushTag('2.2.0', owner)).status).toBe(201);
  });

  it('is replaced by a policy', async () => {
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    const response = await registry.send('PUT', '/api/v1/policies', policy([thief]));
    expect(response.status).toBe(200);
    expect((await publish('2.0.0', owner)).status).toBe(422);
    expect((await publish('2.0.0', thief)).status).toBe(201);
  });

  it('is unknown in a tombstone of an older version, which works as before', async () => {
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    await registry.parts.close();
    const database = new Database(dataPaths(registry.folder).database);
    database.exec('UPDATE takedown SET signers = NULL');
    database.close();
    const file = dataPaths(registry.folder).takedowns;
    const line = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    delete line.signers;
    await writeFile(file, `${JSON.stringify(line)}\n`);
    registry = await openTestRegistry({ folder: registry.folder });
    expect((await publish('1.0.0', owner)).status).toBe(409);
    expect((await publish('2.0.0')).status).toBe(201);
  });
});

describe('a restored registry', () => {
  let backup: string;
  beforeEach(async () => {
    backup = await mkdtemp(path.join(tmpdir(), 'krmhub-backup-'));
  });
  afterEach(() => rm(backup, { recursive: true, force: true }));

  async function backUp(): Promise<void> {
    await registry.parts.close();
    await cp(registry.folder, backup, { recursive: true });
    registry = await openTestRegistry({ folder: registry.folder });
  }

  /** Replaces the data folder by the backup, with a record of takedowns. */
  async function restore(record?: string | Buffer): Promise<void> {
    await registry.parts.close();
    const { folder } = registry;
    await rm(folder, { recursive: true });
    await cp(backup, folder, { recursive: true });
    if (record !== undefined) await writeFile(dataPaths(folder).takedowns, record);
    registry = await openTestRegistry({ folder });
  }

  const record = () => readFile(dataPaths(registry.folder).takedowns);

  it('that is older than the release requires its signer by the record of takedowns', async () => {
    await backUp();
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    await restore(await record());
    await expectOnlyOwner();
  });

  it('that is older than the release requires its signer by a saved revocation feed', async () => {
    await backUp();
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    const feed = (await (await registry.request('/api/v1/revocations')).json()) as RevocationPage;
    expect(feed.revocations[0]?.signers).toEqual([{ type: 'key', fingerprint: owner.fingerprint }]);
    await restore(`${feed.revocations.map((one) => JSON.stringify(one)).join('\n')}\n`);
    await expectOnlyOwner();
  });

  it('takes the signer from the release that it takes down again, if the record lacks it', async () => {
    await publish('1.0.0', owner);
    await backUp();
    await takedown('1.0.0');
    const line = JSON.parse(String(await record())) as Record<string, unknown>;
    delete line.signers;
    await restore(`${JSON.stringify(line)}\n`);
    await expectOnlyOwner();
    expect(String(await record())).toContain(owner.fingerprint);
  });

  it('takes the signer of a known takedown from the record', async () => {
    // The backup has both releases of the same bytes, unsigned.
    const body = text('1.0.0');
    for (const release of ['1.0.0', '1.1.0']) {
      const response = await registry.send('PUT', releasePath({ kind: KIND, release }), body);
      expect(response.status).toBe(201);
    }
    await backUp();
    const statement = releaseStatement(
      { group: 'example.com', kind: KIND, release: '1.1.0' },
      { definition: sha256(body) },
    );
    const bundle = await signedBy(owner, statement);
    const attached = await registry.attach({ kind: KIND, release: '1.1.0' }, bundle);
    expect(attached.status).toBe(200);
    expect((await takedown('1.0.0')).takedowns).toHaveLength(2);
    await restore(await record());
    await expectOnlyOwner();
  });

  it('merges the signers of all records that the operator gives', async () => {
    await publish('1.0.0', owner);
    const { takedowns } = await takedown('1.0.0');
    const [{ signers, ...unsigned }] = takedowns as [(typeof takedowns)[number]];
    const restored = await restoreTakedowns({
      dataFolder: backup,
      others: [unsigned, { ...unsigned, signers }] as never,
      backupTime: '2030-01-01T00:00:00.000Z',
    });
    expect(restored.takedowns).toEqual(takedowns);
  });

  it('is checked for signers that its record lacks', async () => {
    await publish('1.0.0', owner);
    await takedown('1.0.0');
    await registry.parts.close();
    const check = async () => {
      const { healthy, findings } = await checkRegistry(registry.folder, { startedAt: new Date() });
      return { healthy, found: findings.filter((one) => one.check === 'takedown-record') };
    };
    expect(await check()).toEqual({ healthy: true, found: [] });
    const file = dataPaths(registry.folder).takedowns;
    const whole = await record();
    const line = JSON.parse(String(whole)) as Record<string, unknown>;
    delete line.signers;
    await writeFile(file, `${JSON.stringify(line)}\n`);
    expect((await check()).found).toMatchObject([
      { severity: 'information', message: expect.stringContaining('different signers') },
    ]);
    await writeFile(file, '');
    expect((await check()).found).toMatchObject([
      { severity: 'information', message: expect.stringContaining('lacks this takedown') },
    ]);
    await writeFile(file, '{"half');
    expect(await check()).toMatchObject({ healthy: false, found: [{ severity: 'damage' }] });
    await writeFile(file, whole);
    registry = await openTestRegistry({ folder: registry.folder });
  });
});
