import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cacheKey } from '../../apps/registry/src/catalogs/segments/catalog-documents.js';
import { Listener } from '../../apps/registry/src/store/postgres/listener.js';
import { applyAccess } from '../../apps/registry/src/testing/access.js';
import { newKey, policy } from '../../apps/registry/src/testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../apps/registry/src/testing/test-registry.js';
import { catalogText, startUpstream } from '../../apps/registry/src/testing/upstream-server.js';
import { type PostgresServer, postgresMissing, query, startPostgres } from '../contracts/postgres.js';
import { LARGE } from '../faults/workload.js';
import { temporaryFolder } from '../running.js';
import { hasS3Server, S3_CREDENTIALS, type S3Server, startS3Server } from './s3-server.js';

/** Each process listens for events, and with the connection that shows that it is there. */
const LISTENING = 4;
const PATIENCE = { timeout: 60_000, interval: 20 };
const missing = postgresMissing !== undefined || !hasS3Server;

describe.skipIf(missing)('two processes of one database (needs PostgreSQL and versitygw)', () => {
  const { folder, remove } = temporaryFolder();
  let server: PostgresServer;
  let blobs: S3Server;
  let url: string;
  let leader: TestRegistry;
  let other: TestRegistry;
  let authorization: string;
  let number = 0;

  beforeAll(async () => {
    server = await startPostgres();
    blobs = await startS3Server(folder);
  });
  afterAll(async () => {
    await server?.stop();
    await blobs?.stop();
    remove();
  });
  beforeEach(async () => {
    url = await server.createDatabase();
    number += 1;
    leader = await open('leader');
    await expect.poll(() => leader.parts.processes.leads, PATIENCE).toBe(true);
    other = await open('other');
    authorization = `Bearer ${(await leader.token({})).secret}`;
  });
  afterEach(async () => {
    await other.close();
    await leader.close();
  });

  async function open(name: string): Promise<TestRegistry> {
    const data = path.join(folder, `${number}-${name}`);
    mkdirSync(data);
    // Keys are configuration of all processes.
    if (name !== 'leader')
      cpSync(path.join(leader.folder, 'keys'), path.join(data, 'keys'), { recursive: true });
    return openTestRegistry({
      folder: data,
      sources: { sourceAddresses: ['127.0.0.1'] },
      config: {
        databaseUrl: url,
        blobPlace: blobs.place(`registry-${number}`),
        s3Credentials: S3_CREDENTIALS,
        blobCacheBytes: 1_000_000,
      },
    });
  }
  const send = async (
    to: TestRegistry,
    method: string,
    target: string,
    body?: string,
    type = 'application/yaml',
  ) => {
    const response = await to.request(target, {
      method,
      headers: { authorization, 'content-type': type },
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, text: await response.text() };
  };
  const get = (from: TestRegistry, target: string) => send(from, 'GET', target);
  const publish = async (to: TestRegistry, kind: string, query = '?wait=true', more = '') => {
    const definition = { kind, release: '1.0.0' };
    const sent = await send(to, 'PUT', releasePath(definition) + query, definitionText(definition) + more);
    expect([sent.status, sent.text]).toEqual([201, expect.anything()]);
  };
  const takeDown = (at: TestRegistry, kind: string) =>
    send(
      at,
      'POST',
      `${releasePath({ kind, release: '1.0.0' })}/takedown`,
      JSON.stringify({ reason: 'a test' }),
      'application/json',
    );
  const catalog = async (of: TestRegistry, name = 'default') =>
    (await get(of, `/catalogs/${name}/catalog.yaml`)).text;

  it('shows a publish on one process on the other: catalog, search, and pages', async () => {
    // Both have the catalog before in memory.
    await publish(leader, 'First');
    for (const registry of [leader, other])
      await expect.poll(() => catalog(registry), PATIENCE).toContain('First');
    for (const [from, to, kind] of [
      [leader, other, 'Second'],
      [other, leader, 'Third'],
    ] as const) {
      await publish(from, kind);
      // The process that answered shows it at once, the other one soon.
      expect(await catalog(from)).toContain(kind);
      await expect.poll(() => catalog(to), PATIENCE).toContain(kind);
      expect((await get(to, `/functions?q=${kind}`)).text).toContain(`/functions/example.com/${kind}`);
      expect((await get(to, `/functions/example.com/${kind}`)).status).toBe(200);
    }
  });

  it('reads no events that notices tell, and applies all, whatever other programs notify', async () => {
    const followed = async () => {
      const { text } = await get(other, '/metrics');
      return Number(/statements_total\{work="following"\} (\d+)/.exec(text)?.[1]);
    };
    await publish(leader, 'First');
    await expect.poll(() => catalog(other), PATIENCE).toContain('First');
    await expect.poll(async () => (await followed()) - (await followed()), PATIENCE).toBe(0);
    const before = await followed();
    for (let at = 0; at < 10; at += 1) {
      await publish(leader, `Told${at}`, '');
      await expect.poll(() => catalog(other), PATIENCE).toContain(`Told${at}`);
    }
    // Each is two events. What is read is for the look of each minute, or after a notice that came late.
    expect((await followed()) - before).toBeLessThan(10);
    const next = (await leader.parts.store.lastEvent()) + 1;
    for (const forged of [`${next} catalog.cut default 999`, 'nonsense', '1 release.published'])
      await query(url, `SELECT pg_notify('krmhub', '${forged}')`);
    const key = newKey();
    expect((await send(leader, 'PUT', '/api/v1/policies', policy([key]))).status).toBe(200);
    // Sooner than the look of each half minute, which would hide a lost event.
    await expect.poll(() => other.parts.trust.policies.length, { timeout: 20_000 }).toBe(1);
  });

  it('serves nothing of a release that another process took down', async () => {
    await publish(leader, 'Secret', '?wait=true', LARGE);
    const file = `${releasePath({ kind: 'Secret', release: '1.0.0' })}/definition.yaml`;
    for (const registry of [leader, other]) {
      await expect.poll(() => catalog(registry), PATIENCE).toContain('Secret');
      expect((await get(registry, '/functions/example.com/Secret')).status).toBe(200);
      expect((await get(registry, file)).status).toBe(200);
    }
    const served = other.parts.newestSnapshots.known('default')!;
    const inMemory = cacheKey(served.digests['catalog.yaml'], 'identity');
    expect(other.parts.documents.inMemory(inMemory)).toBeDefined();
    const copies = () => readdirSync(other.parts.paths.blobCache).filter((name) => name.startsWith('blobs-'));
    expect(copies()).not.toEqual([]);
    const profiles = () =>
      readdirSync(other.parts.paths.profiles, { recursive: true, encoding: 'utf8' }).filter((name) =>
        /[0-9a-f]{64}$/.test(name),
      );
    expect((await get(other, '/catalogs/default/catalog.yaml?profile=kep')).status).toBe(200);
    expect(profiles()).not.toEqual([]);
    expect((await takeDown(leader, 'Secret')).status).toBe(200);
    // The response came after all processes had forgotten the bytes.
    expect(other.parts.documents.inMemory(inMemory)).toBeUndefined();
    await expect.poll(copies, PATIENCE).toEqual([]);
    await expect.poll(profiles, PATIENCE).toEqual([]);
    expect((await get(other, file)).status).toBe(410);
    expect((await get(other, `/catalogs/default/snapshots/${served.serial}/catalog.yaml`)).status).toBe(410);
    expect((await get(other, '/functions?q=Secret')).text).not.toContain('/functions/example.com/Secret');
    await expect.poll(() => catalog(other), PATIENCE).not.toContain('Secret');

    // A process that does not lead takes down.
    await publish(leader, 'Other');
    expect((await takeDown(other, 'Other')).status).toBe(200);
    expect(await catalog(other)).not.toContain('kind: Other');
    await expect.poll(() => catalog(leader), PATIENCE).not.toContain('kind: Other');
  });

  it('hides what another process hides, and shows it again: functions, catalogs, and repositories', async () => {
    const group = 'secret.example.com';
    const fn = { group, kind: 'SetSecret', release: '1.0.0' };
    expect((await send(leader, 'PUT', releasePath(fn), definitionText(fn))).status).toBe(201);
    const paths = [
      `/api/v1/functions/${group}/SetSecret`,
      `/catalogs/default/functions/${group}/SetSecret.yaml`,
      `/v2/functions/${group}/setsecret/tags/list`,
    ];
    const statuses = (registry: TestRegistry, headers: Record<string, string> = {}) =>
      Promise.all(paths.map(async (target) => (await registry.request(target, { headers })).status));
    for (const registry of [leader, other]) {
      await expect.poll(() => statuses(registry), PATIENCE).toEqual([200, 200, 200]);
    }
    await applyAccess(other, `groups: [{pattern: ${group}, visibility: private}]`);
    for (const registry of [leader, other]) {
      await expect.poll(() => statuses(registry), PATIENCE).toEqual([404, 404, 401]);
      await expect.poll(() => catalog(registry), PATIENCE).not.toContain('SetSecret');
    }
    // The catalog is public, so nobody finds the entry there.
    expect(await statuses(leader, { Authorization: authorization })).toEqual([200, 404, 200]);
    await applyAccess(leader, '');
    for (const registry of [leader, other]) {
      await expect.poll(() => statuses(registry), PATIENCE).toEqual([200, 200, 200]);
    }
  });

  it('enforces policies, recipes, and tokens of another process', async () => {
    const policies = policy([newKey()]);
    expect((await send(leader, 'PUT', '/api/v1/policies', policies)).status).toBe(200);
    await expect.poll(() => other.parts.trust.policies.length, PATIENCE).toBe(1);
    const refused = { kind: 'Unsigned', release: '1.0.0' };
    expect((await send(other, 'PUT', releasePath(refused), definitionText(refused))).status).toBe(422);

    const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: ours, functions: {}}]}
`;
    expect((await send(other, 'PUT', '/api/v1/catalogs/ours', recipe)).status).toBe(201);
    expect((await send(other, 'POST', '/api/v1/catalogs/ours/cut')).status).toBe(200);
    for (const registry of [other, leader])
      await expect
        .poll(async () => (await get(registry, '/catalogs/ours/catalog.yaml')).status, PATIENCE)
        .toBe(200);
    const deletion = JSON.stringify({ reason: 'a test' });
    const deleted = await send(leader, 'POST', '/api/v1/catalogs/ours/delete', deletion, 'application/json');
    expect(deleted.status).toBe(200);
    await expect
      .poll(async () => (await get(other, '/catalogs/ours/catalog.yaml')).status, PATIENCE)
      .toBe(410);
    expect((await send(other, 'POST', '/api/v1/catalogs/ours/restore')).status).toBe(200);
    await expect
      .poll(async () => (await get(leader, '/catalogs/ours/catalog.yaml')).status, PATIENCE)
      .toBe(200);

    const { id, secret } = await leader.token({ name: 'short' });
    const listed = () => other.request('/api/v1/tokens', { headers: { authorization: `Bearer ${secret}` } });
    expect((await listed()).status).toBe(200);
    expect((await send(leader, 'DELETE', `/api/v1/tokens/${id}`)).status).toBeLessThan(300);
    expect((await listed()).status).toBe(401);
  });

  it('syncs and builds on the leader, whichever is asked, and returns its errors', async () => {
    const upstream = await startUpstream();
    try {
      upstream.files.set('/catalog.yaml', catalogText({ Theirs: 'one' }));
      const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: mixed}
spec:
  sources:
  - name: theirs
    catalog: {url: '${upstream.origin}/catalog.yaml', refresh: 1h}
`;
      expect((await send(other, 'PUT', '/api/v1/catalogs/mixed', recipe)).status).toBe(201);
      expect((await send(other, 'POST', '/api/v1/catalogs/mixed/cut')).status).toBe(200);
      expect(await catalog(other, 'mixed')).toContain('Theirs');
      upstream.files.set('/catalog.yaml', catalogText({ Theirs: 'one', More: 'two' }));
      const synced = await send(other, 'POST', '/api/v1/catalogs/mixed/sources/theirs/refresh');
      expect([synced.status, synced.text]).toEqual([200, expect.stringContaining('"entries":2')]);
      expect(await catalog(other, 'mixed')).toContain('More');
      // Only the leader has it.
      const copy = await send(other, 'GET', '/api/v1/catalogs/mixed/sources/theirs/copy');
      expect([copy.status, copy.text]).toEqual([200, catalogText({ Theirs: 'one', More: 'two' })]);
    } finally {
      await upstream.close();
    }
    await expect(
      other.parts.refresher.refreshNow({ catalog: 'mixed', source: 'missing' }),
    ).rejects.toMatchObject({
      code: 'not-found',
      message: 'source mixed/missing not found',
    });
    // The leader has marked all catalogs, so that it does not do so while one is broken.
    const behind = 'SELECT name FROM catalog WHERE through_event < (SELECT max(sequence) FROM event)';
    await expect.poll(() => query(url, behind), PATIENCE).toEqual([]);
    // Something broke the catalog: the leader fails, and the other process says why.
    await query(url, `UPDATE catalog SET recipe = 'broken' WHERE name = 'mixed'`);
    await query(url, `UPDATE catalog SET through_event = 1 WHERE name = 'mixed'`);
    await expect(other.parts.snapshotBuilder.buildNow({ name: 'mixed' })).rejects.toMatchObject({
      code: 'invalid-document',
      message: 'cannot read the stored recipe of catalog mixed',
    });
    await expect
      .poll(() => other.parts.snapshotBuilder.status().failing, PATIENCE)
      .toEqual([expect.objectContaining({ catalog: 'mixed' })]);
    expect(await query(url, 'SELECT count(*)::int AS calls FROM leader_call')).toEqual([{ calls: 0 }]);
  });

  it('answers requests that wait for a leader once there is another one', async () => {
    const ready = async () => (await get(other, '/readyz')).status;
    await expect.poll(ready, PATIENCE).toBe(200);
    await publish(other, 'Before');
    const [built] = await Promise.all([
      other.parts.snapshotBuilder.buildNow({ name: 'default' }),
      leader.close(),
    ]);
    expect(built).toBeUndefined();
    await publish(other, 'After');
    expect(await catalog(other)).toContain('After');
    expect(other.parts.processes.leads).toBe(true);
    expect(await ready()).toBe(200);
  });

  it('follows without notifications, and hears them again after its connection broke', async () => {
    await query(url, 'DROP TRIGGER event_notify ON event');
    await publish(leader, 'Polled', '');
    // The other process asks once a minute.
    await expect.poll(() => catalog(other), { ...PATIENCE, timeout: 120_000 }).toContain('Polled');

    const listening = () =>
      query<{ pid: number }>(
        url,
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
           AND (query LIKE '%LISTEN krmhub' OR query = '')`, // It shows now and then that it is there.
      );
    await expect.poll(async () => (await listening()).length, PATIENCE).toBe(LISTENING);
    await query(url, `SELECT pg_terminate_backend(${(await listening())[0]!.pid})`);
    await publish(leader, 'After', '');
    await expect.poll(() => catalog(other), { ...PATIENCE, timeout: 120_000 }).toContain('After');
    await expect.poll(async () => (await listening()).length, PATIENCE).toBe(LISTENING);

    let notices = 0;
    const listener = new Listener(url, {
      log: pino({ level: 'silent' }),
      onNotice: () => {
        notices += 1;
      },
    });
    await expect.poll(() => notices, PATIENCE).toBe(1);
    await query(url, `SELECT pg_notify('krmhub', '')`);
    await expect.poll(() => notices, PATIENCE).toBe(2);
    await listener.close();
  }, 300_000);
});
