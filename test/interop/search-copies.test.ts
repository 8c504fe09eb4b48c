import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../contracts/postgres.js';
import { releasePath } from '../faults/workload.js';
import { replicasMissing } from '../replicas/missing.js';
import { krmhub, type RunningRegistry, startProcess } from '../running.js';
import { type FaultyProxy, startFaultyProxy } from './s3-proxy.js';
import { ask, publish, sharedSettings, useServers } from './servers.js';

/** Processes with empty data folders, as pods have, on one database and one prefix. */
describe.skipIf(replicasMissing)('a new process (needs PostgreSQL and versitygw)', () => {
  const servers = useServers({ postgres: true, s3: true });
  const running: RunningRegistry[] = [];
  let proxy: FaultyProxy;
  let settings: Record<string, string>;
  let leader: RunningRegistry;
  const start = async (name: string): Promise<RunningRegistry> => {
    const data = servers.at(name);
    mkdirSync(data);
    if (leader !== undefined)
      copyFileSync(path.join(leader.data, 'admin.token'), path.join(data, 'admin.token'));
    const registry = await startProcess(
      data,
      { ...settings, KRMHUB_KEYS: servers.at('keys') },
      servers.at(`${name}.log`),
    );
    running.push(registry);
    return registry;
  };
  const logOf = (name: string) => readFileSync(servers.at(`${name}.log`), 'utf8');
  const copies = () =>
    readdirSync(servers.s3.objects, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && one.parentPath.includes('/search/'))
      .map((one) => path.basename(one.parentPath));
  const named = async () => {
    const [row] = await query<{ value: string }>(
      settings.KRMHUB_DATABASE_URL!,
      `SELECT value FROM setting WHERE name = 'search-index'`,
    );
    return row && (JSON.parse(row.value) as { id: string; takedowns: number; digests: string[] });
  };
  const total = async (registry: RunningRegistry, text: string) => {
    const response = await ask(registry, `/api/v1/functions?q=${text}`);
    return ((await response.json()) as { total: number }).total;
  };
  const ready = (registry: RunningRegistry) =>
    expect.poll(async () => (await ask(registry, '/readyz')).status, { timeout: 120_000 }).toBe(200);

  beforeAll(async () => {
    proxy = await startFaultyProxy(servers.s3.endpoint);
    settings = await sharedSettings(servers, 'copies', proxy.endpoint);
    leader = await start('leader');
    for (const kind of ['First', 'Second', 'Third']) expect((await publish(leader, kind)).status).toBe(201);
  });
  afterAll(async () => {
    for (const registry of running) await registry.stop();
    await proxy?.close();
  });

  it('begins with the copy of the leader, which no client can read, and which a takedown deletes', async () => {
    await expect.poll(named, { timeout: 120_000 }).toBeDefined();
    const { id, digests } = (await named())!;
    expect(copies()).toEqual(digests.map(() => id));
    proxy.faults.delay = 50;
    const other = await start('other');
    proxy.faults.delay = 0;
    await ready(other);
    expect(logOf('other')).toContain('begins with a copy from the blob store');
    for (const kind of ['first', 'second', 'third'])
      expect([kind, await total(other, kind)]).toEqual([kind, 1]);
    for (const digest of digests) {
      for (const repository of ['team/tools', 'search', 'example.com/first'])
        expect((await ask(other, `/v2/${repository}/blobs/${digest}`)).status).toBe(404);
    }
    const checked = await krmhub(['fsck', '--data', other.data], {
      env: { ...settings, KRMHUB_KEYS: servers.at('keys') },
    });
    expect([checked.code, checked.stderr]).toEqual([0, expect.stringContaining('no problems')]);

    const takedown = await ask(other, `${releasePath({ kind: 'First', release: '1.0.0' })}/takedown`, {
      method: 'POST',
      body: JSON.stringify({ reason: 'it has a secret' }),
      headers: { 'content-type': 'application/json' },
    });
    expect([takedown.status, await takedown.text()]).toEqual([200, expect.anything()]);
    expect(copies()).not.toContain(id);
    const third = await start('third');
    expect(await total(third, 'first')).toBe(0);
    await ready(third);
    expect([await total(third, 'first'), await total(third, 'second')]).toEqual([0, 1]);
    expect(logOf('third')).toMatch(/a release was taken down after it|begins with a copy/);
  });
});
