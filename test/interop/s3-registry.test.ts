import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createLog, readConfig, startRegistry as startInProcess } from '@krmhub/registry';
import { checkRegistry } from '@krmhub/registry/operate';
import { type KrmhubError, sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lossesOverHttp } from '../faults/verify.js';
import { definition, GROUP, LARGE, newLedger, releasePath, work } from '../faults/workload.js';
import { krmhub, type RunningRegistry } from '../running.js';
import { type FaultyProxy, startFaultyProxy } from './s3-proxy.js';
import { hasS3Server, S3_CREDENTIALS, S3_ENVIRONMENT } from './s3-server.js';
import { ask, blobPath, publish, pushBlob, useServers } from './servers.js';

/** A registry in its own process that keeps its blobs in an S3 server. */
describe.skipIf(!hasS3Server)('a registry with blobs in S3 (needs versitygw)', () => {
  const servers = useServers({ s3: true });
  let proxy: FaultyProxy;
  beforeAll(async () => {
    proxy = await startFaultyProxy(servers.s3.endpoint);
  });
  afterAll(() => proxy?.close());

  const start = (name: string, settings: Record<string, string> = {}) =>
    servers.start(servers.at(name), {
      ...S3_ENVIRONMENT,
      KRMHUB_BLOB_URL: servers.s3.blobUrl(name, proxy.endpoint),
      ...settings,
    });
  const objects = (prefix: string) => {
    const below = path.join(servers.s3.objects, prefix);
    return !existsSync(below)
      ? []
      : readdirSync(below, { recursive: true, encoding: 'utf8' }).filter((name) =>
          /\/[0-9a-f]{64}$/.test(name),
        );
  };
  const pull = (registry: RunningRegistry, bytes: Buffer, init: RequestInit = {}) =>
    ask(registry, blobPath(bytes), init);
  const findings = async (data: string) =>
    (await checkRegistry(data, { startedAt: new Date(), s3Credentials: S3_CREDENTIALS })).findings.filter(
      ({ severity }) => severity === 'damage',
    );

  it('publishes, pushes, pulls, checks, backs up, restores, and takes down', async () => {
    const registry = await start('flow');
    expect((await publish(registry, 'Flow', '1.0.0', LARGE)).status).toBe(201);
    // Small definitions are rows.
    expect((await publish(registry, 'Small', '1.0.0')).status).toBe(201);
    const secret = await (
      await ask(registry, `${releasePath({ kind: 'Flow', release: '1.0.0' })}/definition.yaml`)
    ).text();
    expect(secret).toBe(definition('Flow', '1.0.0') + LARGE);
    const large = Buffer.alloc(9_500_000, 'large ');
    expect((await pushBlob(registry, large)).status).toBe(201);
    expect(large.equals(Buffer.from(await (await pull(registry, large)).arrayBuffer()))).toBe(true);
    const part = await pull(registry, large, { headers: { range: 'bytes=8388600-8388619' } });
    expect([part.status, await part.text()]).toEqual([206, large.subarray(8_388_600, 8_388_620).toString()]);
    // The page of a function is derived in another thread.
    expect((await ask(registry, `/functions/${GROUP}/Flow`)).status).toBe(200);
    expect((await ask(registry, `/schemas/${GROUP}/v1/Flow.json`)).status).toBe(200);
    expect((await ask(registry, '/readyz')).status).toBe(200);
    for (const part of ['artifacts', 'blobs'])
      expect(objects('flow').filter((name) => name.includes(part))).toHaveLength(1);
    expect(existsSync(path.join(registry.data, 'artifacts'))).toBe(false);
    const metrics = await (await ask(registry, '/metrics')).text();
    expect(metrics).toMatch(
      /krmhub_blob_store_requests_total\{operation="multipart-complete",outcome="200"\} 1/,
    );
    expect(metrics).toMatch(/krmhub_blob_cache_reads_total\{outcome="hit"\} [1-9]/);

    const env = S3_ENVIRONMENT;
    const checked = await krmhub(['fsck', '--data', registry.data], { env });
    expect([checked.code, checked.stdout]).toEqual([0, '']);
    const unsigned = await krmhub(['fsck', '--data', registry.data], {
      env: { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' },
    });
    expect([unsigned.code, unsigned.stderr]).toEqual([2, expect.stringContaining('AWS_ACCESS_KEY_ID')]);
    const backup = servers.at('flow-backup');
    const backedUp = await krmhub(['backup', '--data', registry.data, '--out', backup], { env });
    expect([backedUp.code, backedUp.stderr]).toEqual([0, expect.stringContaining('verified')]);
    expect(existsSync(path.join(backup, 'blob-store.json'))).toBe(false);

    // From the folder of the backup to another prefix, and to a folder.
    const url = servers.s3.blobUrl('flow-restored');
    const restored = servers.at('flow-restored');
    const there = await krmhub(['restore', backup, '--data', restored, '--blob-url', url], { env });
    expect([there.code, there.stderr]).toEqual([0, expect.stringContaining('restored')]);
    expect(objects('flow-restored')).toEqual(objects('flow'));
    expect(await findings(restored)).toEqual([]);
    const plain = servers.at('flow-folder');
    expect((await krmhub(['restore', backup, '--data', plain])).code).toBe(0);
    expect((await krmhub(['fsck', '--data', plain])).code).toBe(0);
    const other = await start('flow-restored', { KRMHUB_BLOB_URL: url });
    expect(large.equals(Buffer.from(await (await pull(other, large)).arrayBuffer()))).toBe(true);
    await servers.stop(other);

    const takedown = await ask(registry, `${releasePath({ kind: 'Flow', release: '1.0.0' })}/takedown`, {
      method: 'POST',
      body: JSON.stringify({ reason: 'it has a secret' }),
      headers: { 'content-type': 'application/json' },
    });
    expect(takedown.status).toBe(200);
    const digest = sha256(secret).slice('sha256:'.length);
    await expect.poll(() => objects('flow').filter((name) => name.endsWith(digest))).toEqual([]);
    const cached = readdirSync(path.join(registry.data, 'blob-cache'));
    expect(cached.filter((name) => name.endsWith(digest))).toEqual([]);
    expect(
      (await ask(registry, `${releasePath({ kind: 'Flow', release: '1.0.0' })}/definition.yaml`)).status,
    ).toBe(410);
    expect(await findings(registry.data)).toEqual([]);
    await servers.stop(registry);
  });

  it('does not start where the blobs are not', async () => {
    const first = await start('places');
    expect((await publish(first, 'Places', '1.0.0')).status).toBe(201);
    await servers.stop(first);
    const refused = async (name: string, settings: Record<string, string>, ...texts: string[]) => {
      const started = startInProcess({
        config: readConfig(
          { ...S3_ENVIRONMENT, ...settings },
          { host: '127.0.0.1', port: '0', data: servers.at(name) },
        ),
        log: createLog('silent', { write: () => undefined }),
        inThread: { random: Math.random, start: false },
      });
      const { message, hint } = await started.then(
        () => ({ message: 'started', hint: '' }),
        (error: KrmhubError) => error,
      );
      for (const text of texts) expect(`${message}\n${hint}`).toContain(text);
    };
    await refused('places', {}, 'the blobs of this registry are in s3://registry/places', '--blob-url');
    await refused('places', { KRMHUB_BLOB_URL: servers.s3.blobUrl('other') }, 'not in s3://registry/other');
    await refused(
      'second',
      { KRMHUB_BLOB_URL: servers.s3.blobUrl('places') },
      'the blobs of another registry',
      'its database is lost',
    );
    await refused(
      'third',
      { KRMHUB_BLOB_URL: servers.s3.blobUrl('third').replace('registry', 'missing') },
      'NoSuchBucket',
      'Create the bucket missing',
    );
    await refused(
      'third',
      { KRMHUB_BLOB_URL: servers.s3.blobUrl('third'), AWS_SECRET_ACCESS_KEY: 'wrong-key' },
      'SignatureDoesNotMatch',
      'Check AWS_ACCESS_KEY_ID',
    );
    await refused(
      'third',
      { KRMHUB_BLOB_URL: servers.s3.blobUrl('third'), AWS_SECRET_ACCESS_KEY: '' },
      'no credentials',
    );
    // A first start that failed does not decide where the blobs are.
    const third = await start('third', { KRMHUB_BLOB_URL: servers.s3.blobUrl('third-other') });
    expect((await publish(third, 'Places', '1.0.0')).status).toBe(201);
    await servers.stop(third);
    const inFolder = await servers.start(servers.at('in-folder'));
    // Small ones are rows, which any registry can read.
    expect((await pushBlob(inFolder, Buffer.alloc(100_000, 'in a folder'))).status).toBe(201);
    await inFolder.stop();
    await refused('in-folder', { KRMHUB_BLOB_URL: servers.s3.blobUrl('in-folder') }, 'krmhub move');
  });

  it('redirects clients to presigned URLs of pushed blobs', async () => {
    const registry = await start('redirect', {
      KRMHUB_BLOB_URL: servers.s3.blobUrl('redirect'),
      KRMHUB_BLOB_REDIRECT: 'true',
    });
    const large = Buffer.alloc(100_000, 'redirected ');
    const small = Buffer.from('small');
    for (const bytes of [large, small]) expect((await pushBlob(registry, bytes)).status).toBe(201);
    const first = await pull(registry, large, { redirect: 'manual' });
    expect([first.status, first.headers.get('docker-content-digest')]).toEqual([307, sha256(large)]);
    const location = first.headers.get('location')!;
    expect(new URL(location).origin).toBe(servers.s3.endpoint);
    expect(location).not.toContain(S3_CREDENTIALS.secretAccessKey);
    const followed = await pull(registry, large);
    expect(followed.headers.get('content-disposition')).toBe('attachment');
    expect(large.equals(Buffer.from(await followed.arrayBuffer()))).toBe(true);
    const part = await pull(registry, large, { headers: { range: 'bytes=10-19' } });
    expect([part.status, await part.text()]).toEqual([206, large.subarray(10, 20).toString()]);
    expect((await pull(registry, small, { redirect: 'manual' })).status).toBe(200);
    const other = new URL(location);
    other.pathname = other.pathname.replace(/[0-9a-f]{64}$/, sha256(small).slice('sha256:'.length));
    expect((await fetch(other)).status).toBe(403);
    // What is not public has no URL, and of what was public, it ends soon.
    expect(Number(new URL(location).searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(60);
    expect(first.headers.get('cache-control')).toBe('no-store');
    const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {repositories: [{pattern: "*", visibility: private}]}
`;
    const headers = { authorization: `Bearer ${registry.token}`, 'content-type': 'application/yaml' };
    const applied = await ask(registry, '/api/v1/access', { method: 'PUT', headers, body: access });
    expect(applied.status).toBe(200);
    for (const range of [{}, { range: 'bytes=10-19' }] as Record<string, string>[]) {
      const anonymous = await fetch(registry.url + blobPath(large), { redirect: 'manual', headers: range });
      expect(anonymous.status).toBe(401);
      const read = await pull(registry, large, { redirect: 'manual', headers: { ...range, ...headers } });
      expect([200, 206]).toContain(read.status);
      expect([read.headers.get('location'), read.headers.get('cache-control')]).toEqual([
        null,
        'private, no-store',
      ]);
    }
    await servers.stop(registry);
  });

  it('loses nothing acknowledged while the server is away, slow, and fails 10 % of the requests', async () => {
    // Without a cache, every read is a request.
    const registry = await start('faults', { KRMHUB_BLOB_CACHE_MEBIBYTES: '0' });
    const ledger = newLedger();
    const statuses: number[] = [];
    const rounds = async (from: number, to: number) => {
      for (let round = from; round < to; round++) statuses.push(...(await work(registry, ledger, round)));
    };
    await rounds(0, 3);
    proxy.faults.failing = 0.1;
    await rounds(3, 12);
    proxy.faults.delay = 100;
    await rounds(12, 15);
    Object.assign(proxy.faults, { failing: 0, delay: 0, away: true });
    const acknowledged = [...ledger.sent.values()].filter((sent) => sent.acknowledged);
    expect(acknowledged.length).toBeGreaterThan(20);
    const refused = await publish(registry, 'Away', '1.0.0', LARGE);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining('running'),
    });
    expect((await ask(registry, '/readyz')).status).toBe(503);
    const released = releasePath(acknowledged[0]!);
    const lost = await ask(registry, `${released}/readme.md`);
    expect([lost.status, lost.headers.get('retry-after')]).toEqual([503, '1']);
    // What is not in the store is served, and published.
    for (const served of ['/catalogs/default/catalog.yaml', `${released}/definition.yaml`])
      expect((await ask(registry, served)).status).toBe(200);
    expect((await publish(registry, 'Small', '1.0.0')).status).toBe(201);
    proxy.faults.away = false;
    await expect.poll(async () => (await ask(registry, '/readyz')).status).toBe(200);
    await rounds(15, 17);
    expect(statuses.filter((status) => ![0, 200, 201, 202, 503, 507].includes(status))).toEqual([]);
    expect(await lossesOverHttp(registry, ledger)).toEqual([]);
    expect(await findings(registry.data)).toEqual([]);
    await servers.stop(registry);
    const again = await start('faults');
    expect(await lossesOverHttp(again, ledger)).toEqual([]);
    await servers.stop(again);
    expect(readFileSync(path.join(again.data, 'blob-store.json'), 'utf8')).toContain('"prefix": "faults"');
  });
});
