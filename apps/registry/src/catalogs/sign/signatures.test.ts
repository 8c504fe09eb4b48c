import { rm } from 'node:fs/promises';
import type { RegistryKeyList } from '@krmhub/api/model';
import { MEDIA_TYPES } from '@krmhub/oci';
import {
  BUNDLE_MEDIA_TYPE,
  PROFILES,
  type PublicKey,
  readPublicKey,
  SNAPSHOT_RENDITIONS,
  sha256,
} from '@krmhub/schema';
import { verifySnapshot } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRegistry } from '../../operate/check/check.js';
import { rotateRegistryKey } from '../../operate/operate-keys.js';
import { dataPaths } from '../../store/data-folder.js';
import { Database } from '../../store/sqlite/driver.js';
import { testClient } from '../../testing/oci.js';
import { openTestRegistry, releasePath, type TestRegistry } from '../../testing/test-registry.js';
import { SignatureRenewal } from './renewal.js';

const DAY = 86_400_000;
const MINUTE = 60_000;

let registry: TestRegistry;
let admin: string;
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.waitForCatalogs();
  admin = `Bearer ${(await registry.token({})).secret}`;
});
afterEach(() => registry.close());

const client = testClient(
  () => registry,
  () => admin,
);
const text = async (target: string) => (await registry.request(target)).text();

async function pinned(): Promise<PublicKey[]> {
  const { keys } = JSON.parse(await text('/.well-known/krmhub-keys.json')) as RegistryKeyList;
  return keys.map(({ publicKey }) => readPublicKey(publicKey, 'the key'));
}

async function signed(target = '/catalogs/default/snapshot.sigstore.json', keys?: PublicKey[]) {
  const bytes = new TextEncoder().encode(await text(target));
  const { signed, checks } = verifySnapshot(bytes, keys ?? (await pinned()));
  expect(checks.filter(({ passed }) => !passed)).toEqual([]);
  return { ...signed!, bytes };
}

/** Checks that the signed digests match the served bytes. */
async function expectSigned(serial: number): Promise<void> {
  const base = `/catalogs/default/snapshots/${serial}`;
  const { claim, digests } = await signed(`${base}/snapshot.sigstore.json`);
  expect(claim).toMatchObject({ catalog: 'default', serial });
  expect([...digests.keys()].sort()).toEqual(['manifest', 'snapshot.json', ...SNAPSHOT_RENDITIONS].sort());
  expect(digests.get('snapshot.json')).toBe(sha256(await text(`${base}/snapshot.json`)));
  for (const syntax of ['yaml', 'json']) {
    expect(digests.get(`catalog.${syntax}`)).toBe(sha256(await text(`${base}/catalog.${syntax}`)));
    expect(digests.get(`krmfunctioncatalog.${syntax}`)).toBe(
      sha256(await text(`${base}/catalog.${syntax}?kind=KRMFunctionCatalog`)),
    );
  }
  const manifest = await client.request('HEAD', `catalogs/default/manifests/${serial}`);
  expect(digests.get('manifest')).toBe(manifest.headers.get('docker-content-digest'));
}

const post = (target: string, body: object) => registry.send('POST', target, body);

interface Referrer {
  digest: `sha256:${string}`;
  artifactType: string;
  annotations: Record<string, string>;
}
async function referrers(serial: number): Promise<Referrer[]> {
  const manifest = await client.request('HEAD', `catalogs/default/manifests/${serial}`);
  const answer = await client.request(
    'GET',
    `catalogs/default/referrers/${manifest.headers.get('docker-content-digest')}`,
  );
  return ((await answer.json()) as { manifests: Referrer[] }).manifests;
}

const findings = async () =>
  (await checkRegistry(registry.folder, { startedAt: new Date() })).findings.map(
    ({ subject, message }) => `${subject}: ${message}`,
  );

describe('a build', () => {
  it('signs the content of each snapshot', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    await registry.publish({ kind: 'Two', release: '1.0.0', versions: ['v1', 'v2'] });
    await registry.publish({ kind: 'One', release: '1.1.0' });
    // A yank of a release that is not displayed changes only the report, and waits for the next snapshot.
    expect(
      (await post(`${releasePath({ kind: 'One', release: '1.0.0' })}/yank`, { reason: 'old' })).status,
    ).toBe(200);
    await registry.waitForCatalogs();
    await registry.publish({ kind: 'Alpha', release: '1.0.0' });
    expect(
      (await post(`${releasePath({ kind: 'Two', release: '1.0.0' })}/yank`, { reason: 'bad' })).status,
    ).toBe(200);
    await registry.waitForCatalogs();
    for (let serial = 1; serial <= 6; serial++) await expectSigned(serial);
    const { claim } = await signed();
    expect(claim.serial).toBe(6);
    expect(claim.previous).toBe(sha256(await text('/catalogs/default/snapshots/5/catalog.yaml')));
    expect((await signed('/catalogs/default/snapshots/1/snapshot.sigstore.json')).claim.previous).toBeNull();
    expect(await findings()).toEqual([]);
  });

  it('signs for the configured number of days', async () => {
    const before = Date.now();
    await registry.publish({ kind: 'One', release: '1.0.0' });
    const left = Date.parse((await signed()).claim.expires) - before;
    expect(left).toBeGreaterThanOrEqual(30 * DAY);
    expect(left).toBeLessThan(30 * DAY + MINUTE);
  });

  it('removes the signature of a withdrawn snapshot', async () => {
    await registry.publish({ kind: 'Good', release: '1.0.0' });
    await registry.publish({ kind: 'Bad', release: '1.0.0' });
    const [referrer] = await referrers(3);
    const answer = await post(`${releasePath({ kind: 'Bad', release: '1.0.0' })}/takedown`, {
      reason: 'bad',
    });
    expect(answer.status).toBe(200);
    await registry.waitForCatalogs();
    const gone = await registry.request('/catalogs/default/snapshots/3/snapshot.sigstore.json');
    expect(gone.status).toBe(410);
    expect((await client.request('GET', `catalogs/default/manifests/${referrer!.digest}`)).status).toBe(404);
    await expectSigned(2);
    await expectSigned(4);
    expect(await findings()).toEqual([]);
  });
});

describe('a signature', () => {
  it('can be found by cosign', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    const [referrer, ...others] = await referrers(2);
    expect(others).toEqual([]);
    expect(referrer).toMatchObject({
      artifactType: BUNDLE_MEDIA_TYPE,
      annotations: {
        'dev.sigstore.bundle.content': 'dsse-envelope',
        'dev.sigstore.bundle.predicateType': 'https://krmhub.dev/snapshot/v1',
      },
    });
    const manifest = (await (
      await client.request('GET', `catalogs/default/manifests/${referrer!.digest}`)
    ).json()) as { mediaType: string; layers: { mediaType: string; digest: string; size: number }[] };
    expect(manifest.mediaType).toBe(MEDIA_TYPES.image);
    expect(manifest.layers).toHaveLength(1);
    const [layer] = manifest.layers;
    expect(layer?.mediaType).toBe(BUNDLE_MEDIA_TYPE);
    const blob = await client.request('GET', `catalogs/default/blobs/${layer!.digest}`);
    const bytes = new Uint8Array(await blob.arrayBuffer());
    expect(bytes.byteLength).toBe(layer?.size);
    expect(new TextDecoder().decode(bytes)).toBe(await text('/catalogs/default/snapshot.sigstore.json'));
    const part = await client.request('GET', `catalogs/default/blobs/${layer!.digest}`, {
      headers: { Range: 'bytes=2-11' },
    });
    expect([part.status, await part.text()]).toEqual([206, new TextDecoder().decode(bytes.subarray(2, 12))]);
    // The bytes belong to the catalog; other repositories need their own push.
    const mounted = await client.request(
      'POST',
      `team/mirror/blobs/uploads/?mount=${layer!.digest}&from=catalogs/default`,
    );
    expect(mounted.status).toBe(202);
  });

  it('is served with its digest, revalidated, and with the current content', async () => {
    const target = '/catalogs/default/snapshots/1/snapshot.sigstore.json';
    const first = await registry.request(target);
    expect(first.headers.get('content-type')).toBe(BUNDLE_MEDIA_TYPE);
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const etag = first.headers.get('etag')!;
    expect(etag).toBe(`"${sha256(await first.text())}"`);
    const same = await registry.request(target, { headers: { 'If-None-Match': etag } });
    expect(same.status).toBe(304);
    const newest = await registry.request('/catalogs/default/snapshot.sigstore.json');
    expect([newest.headers.get('cache-control'), newest.headers.get('etag')]).toEqual(['no-cache', etag]);
    registry.advance(16 * DAY);
    await registry.renewal.renew();
    expect((await registry.request(target, { headers: { 'If-None-Match': etag } })).status).toBe(200);
    for (const missing of [
      '/catalogs/none/snapshot.sigstore.json',
      '/catalogs/default/snapshots/9/snapshot.sigstore.json',
    ]) {
      expect((await registry.request(missing)).status).toBe(404);
    }
  });

  it('covers a profile and its report once a client asks for them, and changes nothing else', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    await registry.publish({ kind: 'Two', release: '1.0.0' });
    registry.advance(20 * DAY);
    for (const serial of [2, 3]) {
      const base = `/catalogs/default/snapshots/${serial}`;
      const bundle = `${base}/snapshot.sigstore.json`;
      const before = await signed(bundle);
      const profiles: Record<string, string> = {};
      for (const profile of PROFILES) {
        // The report first: each of them makes both.
        const report = await text(`${base}/profiles/${profile}.json`);
        profiles[`profiles/${profile}.json`] = sha256(report);
        profiles[`profiles/${profile}`] = sha256(await text(`${base}/catalog.yaml?profile=${profile}`));
      }
      const after = await signed(bundle);
      expect(after.claim).toEqual(before.claim);
      expect(Object.fromEntries(after.digests)).toEqual({
        ...Object.fromEntries(before.digests),
        ...profiles,
      });
      expect(await referrers(serial)).toHaveLength(1);
      // Nothing is signed again for what is covered.
      await text(`${base}/catalog.yaml?profile=kep`);
      expect(await text(bundle)).toBe(new TextDecoder().decode(after.bytes));
    }
    expect(await registry.renewal.renew()).toBe(1);
    expect([...(await signed()).digests.keys()]).toContain('profiles/porch');
    expect(await findings()).toEqual([]);
  });

  it('covers a stored profile again after the digests of the build were signed', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    const { store } = registry.parts;
    const target = '/catalogs/default/catalog.yaml?profile=kep';
    const bare = (await store.snapshotSignature('default', 2))!;
    const digest = sha256(await text(target));
    expect(await store.renewSignature(bare)).toBe(true);
    expect((await signed()).digests.has('profiles/kep')).toBe(false);
    expect(sha256(await text(target))).toBe(digest);
    expect((await signed()).digests.get('profiles/kep')).toBe(digest);
  });

  it('is restored if its manifest was deleted, as older versions allowed', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    const [referrer] = await referrers(2);
    const change = { at: new Date().toISOString(), by: 'tester' };
    expect(await registry.parts.store.deleteManifest('catalogs/default', referrer!.digest, change)).toBe(
      true,
    );
    expect(await referrers(2)).toEqual([]);
    expect(await registry.renewal.renew()).toBe(0);
    expect((await referrers(2)).map(({ digest }) => digest)).toEqual([referrer!.digest]);
    expect(await findings()).toEqual([]);
  });
});

describe('renewal', () => {
  it('signs the newest snapshot again after half of the validity, and changes only its times', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    await registry.publish({ kind: 'Two', release: '1.0.0' });
    const before = await signed();
    const old = await signed('/catalogs/default/snapshots/2/snapshot.sigstore.json');
    const [referrer] = await referrers(3);
    registry.advance(14 * DAY);
    expect(await registry.renewal.renew()).toBe(0);
    registry.advance(2 * DAY);
    expect(await registry.renewal.renew()).toBe(1);
    expect(await registry.renewal.renew()).toBe(0);
    const after = await signed();
    const times = { expires: '', signedAt: '' };
    expect({ ...after.claim, ...times }).toEqual({ ...before.claim, ...times });
    expect(Date.parse(after.claim.signedAt!) - Date.parse(before.claim.signedAt!)).toBeGreaterThan(15 * DAY);
    expect(Date.parse(after.claim.expires) - Date.parse(before.claim.expires)).toBeGreaterThan(15 * DAY);
    expect([...after.digests]).toEqual([...before.digests]);
    expect((await registry.parts.store.snapshots('default', 10)).map(({ serial }) => serial)).toEqual([
      3, 2, 1,
    ]);
    expect((await signed('/catalogs/default/snapshots/2/snapshot.sigstore.json')).claim).toEqual(old.claim);
    const now = await referrers(3);
    expect(now).toHaveLength(1);
    expect(now[0]?.digest).not.toBe(referrer?.digest);
    const oldBlob = await client.request('GET', `catalogs/default/blobs/${sha256(before.bytes)}`);
    expect(oldBlob.status).toBe(404);
    expect(await findings()).toEqual([]);
  });

  it('signs with a new key from its start time; the key is published before', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    const [first] = await pinned();
    const now = registry.parts.clock();
    await rotateRegistryKey({ dataFolder: registry.folder }, { now, from: new Date(now.getTime() + DAY) });
    registry.advance(2 * MINUTE);
    const announced = await pinned();
    expect(announced.map(({ fingerprint }) => fingerprint)[1]).toBe(first?.fingerprint);
    expect(await registry.renewal.renew()).toBe(0);
    expect((await signed()).signer.fingerprint).toBe(first?.fingerprint);
    expect(await text('/.well-known/krmhub-key.pub')).toBe(first?.pem);
    registry.advance(DAY);
    expect(await registry.renewal.renew()).toBe(1);
    expect((await signed()).signer.fingerprint).toBe(announced[0]?.fingerprint);
    await registry.publish({ kind: 'Two', release: '1.0.0' });
    expect((await signed()).signer.fingerprint).toBe(announced[0]?.fingerprint);
    // The retired key stays in the list.
    expect(await text('/.well-known/krmhub-key.pub')).toBe((await pinned())[0]?.pem);
    expect(await pinned()).toHaveLength(2);
    await expectSigned(2);
    await expectSigned(3);
    expect(await findings()).toEqual([]);
  });

  it('shortens a signature that is valid for longer than configured', async () => {
    const { store, keys, clock, metrics, log } = registry.parts;
    const renewal = new SignatureRenewal({ store, signing: { keys, clock, validDays: 2 }, metrics, log });
    expect(await renewal.renew()).toBe(1);
    expect(await renewal.renew()).toBe(0);
    const expires = Date.parse((await signed()).claim.expires);
    expect(expires - clock().getTime()).toBeLessThanOrEqual(2 * DAY);
    expect(await metrics.render()).toContain(
      `krmhub_snapshot_signature_expiry_timestamp_seconds{catalog="default"} ${expires / 1_000}`,
    );
  });

  it('continues with other catalogs if one cannot be signed', async () => {
    const { store, keys, clock, metrics, log } = registry.parts;
    const failing = {
      ...store,
      catalogs: async () => [
        {
          ...(await store.catalogs())[0]!,
          newest: { ...(await store.catalogs())[0]!.newest!, catalog: 'gone' },
        },
        ...(await store.catalogs()),
      ],
    };
    const renewal = new SignatureRenewal({
      store: failing,
      signing: { keys, clock, validDays: 2 },
      metrics,
      log,
    });
    expect(await renewal.renew()).toBe(1);
    expect(registry.logged.join()).toContain('cannot renew the signature');
  });

  it('does not sign a snapshot that was withdrawn meanwhile', async () => {
    await registry.publish({ kind: 'Bad', release: '1.0.0' });
    const { store, keys, clock, metrics, log } = registry.parts;
    const [stale] = await store.catalogs();
    await post(`${releasePath({ kind: 'Bad', release: '1.0.0' })}/takedown`, { reason: 'bad' });
    const late = {
      ...store,
      catalogs: async () => [stale!],
      manifestDescriptor: async () => ({ digest: sha256('m'), mediaType: 'x', size: 1 }),
    };
    const renewal = new SignatureRenewal({
      store: late,
      signing: { keys, clock, validDays: 2 },
      metrics,
      log,
    });
    expect(await renewal.renew()).toBe(0);
    expect(await store.snapshotSignature('default', 2)).toBeUndefined();
    expect(await findings()).toEqual([]);
  });
});

describe('a start', () => {
  const sql = (statement: string) => {
    const database = new Database(dataPaths(registry.folder).database);
    database.exec(statement);
    database.close();
  };
  const closed = async () => {
    await registry.parts.snapshotBuilder.stop();
    await registry.parts.planner.close();
    await registry.parts.store.close();
  };

  it('signs only the newest snapshot of a database from an older program', async () => {
    await registry.publish({ kind: 'One', release: '1.0.0' });
    await closed();
    sql(`DELETE FROM snapshot_signature;
      DELETE FROM oci_manifest WHERE subject IS NOT NULL;
      DELETE FROM oci_blob WHERE place = 'signatures';
      UPDATE oci_repository SET bytes = (SELECT coalesce(sum(size), 0) FROM oci_blob WHERE repository = name)
        + (SELECT coalesce(sum(size), 0) FROM oci_manifest WHERE repository = name)`);
    await rm(dataPaths(registry.folder).keys, { recursive: true });
    expect(await findings()).toEqual([
      'signatures: 1 newest snapshots are not signed yet; the next start signs them',
    ]);
    registry = await openTestRegistry({ folder: registry.folder });
    await expectSigned(2);
    expect((await registry.request('/catalogs/default/snapshots/1/snapshot.sigstore.json')).status).toBe(404);
    expect(await findings()).toEqual([]);
  });

  it('replaces an invalid signature', async () => {
    await closed();
    sql(`UPDATE snapshot_signature SET bundle = '{}'`);
    expect((await findings()).join()).toContain('signature of snapshot default 1: it has no mediaType');
    registry = await openTestRegistry({ folder: registry.folder });
    await expectSigned(1);
    expect(await findings()).toEqual([]);
  });

  it('fails if the signing key is missing', async () => {
    await closed();
    await rm(dataPaths(registry.folder).keys, { recursive: true });
    expect(await findings()).toEqual(['keys: snapshots are signed, but the registry keys are missing']);
    await expect(openTestRegistry({ folder: registry.folder })).rejects.toThrow('keys are missing');
    // The operator may create a new one.
    await rotateRegistryKey({ dataFolder: registry.folder }, { now: new Date() });
    registry = await openTestRegistry({ folder: registry.folder });
    await expectSigned(1);
  });
});
