import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { postgresMissing, query } from '../contracts/postgres.js';
import { GROUP, releasePath } from '../faults/workload.js';
import { krmhub } from '../running.js';
import { ask, publish, useServers } from './servers.js';

/** A registry in its own process that keeps its database in PostgreSQL. */
describe.skipIf(postgresMissing)('a registry with its database in PostgreSQL (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });
  const start = (name: string, url: string) => servers.start(servers.at(name), { KRMHUB_DATABASE_URL: url });

  it('needs no more than a role that owns its database', async () => {
    const admin = await servers.postgres.createDatabase();
    await query(admin, 'CREATE ROLE plain LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE');
    await query(admin, "CREATE DATABASE plain OWNER plain ENCODING 'UTF8' TEMPLATE template0");
    const url = servers.postgres.urlOf('plain').replace('postgres://krmhub@', 'postgres://plain@');
    const registry = await start('plain', url);
    expect((await publish(registry, 'Plain', '1.0.0')).status).toBe(201);
    await servers.stop(registry);
    await servers.stop(await start('plain', url));
  });

  it('does not start on an empty database beside the files of a registry', async () => {
    const url = await servers.postgres.createDatabase();
    const registry = await start('used', url);
    expect((await publish(registry, 'Used', '1.0.0')).status).toBe(201);
    await servers.stop(registry);
    const other = await servers.postgres.createDatabase();
    const data = ['--data', servers.at('used')];
    const refused = [
      5,
      expect.stringMatching(/the database is empty, but the data folder has files .*blobs/),
    ];
    for (const migrated of [false, true]) {
      if (migrated) await krmhub(['migrate', ...data], { env: { KRMHUB_DATABASE_URL: other } });
      const started = await krmhub(['serve', '--port', '0', ...data], {
        env: { KRMHUB_DATABASE_URL: other },
      });
      expect([started.code, started.stderr]).toEqual(refused);
    }
    const checked = await krmhub(['fsck', ...data], { env: { KRMHUB_DATABASE_URL: other } });
    expect([checked.code, checked.stdout]).toEqual([1, expect.stringContaining('the database is empty')]);
    await servers.stop(await start('used', url));
  });

  it('publishes, searches, serves catalogs and pages, and has all of it after a restart', async () => {
    const url = await servers.postgres.createDatabase();
    let registry = await start('flow', url);
    for (const release of ['1.0.0', '1.1.0']) {
      expect((await publish(registry, 'Flow', release)).status).toBe(201);
    }
    const state = async () => {
      const get = async (target: string) => {
        const response = await ask(registry, target);
        expect([target, response.status]).toEqual([target, 200]);
        return response.text();
      };
      // It is ready once it has read a snapshot of each catalog.
      await expect.poll(async () => (await ask(registry, '/readyz')).status).toBe(200);
      expect(await get('/readyz')).toContain('"status":"ok"');
      expect(await get(`/functions/${GROUP}/Flow`)).toContain('Flow');
      return Promise.all([
        get('/catalogs/default/catalog.yaml'),
        get('/functions?q=flow'),
        get(`${releasePath({ kind: 'Flow', release: '1.0.0' })}/definition.yaml`),
      ]);
    };
    const before = await state();
    expect(before[0]).toContain('kind: Flow');
    expect(before[1]).toContain(`/functions/${GROUP}/Flow`);
    await servers.stop(registry);
    registry = await start('flow', url);
    expect(await state()).toEqual(before);

    const second = await krmhub(['serve', '--port', '0', '--data', servers.at('second')], {
      env: { KRMHUB_DATABASE_URL: url },
    });
    expect([second.code, second.stderr]).toEqual([
      5,
      expect.stringContaining('another process uses the database'),
    ]);

    // All connections break, and the registry opens others.
    await servers.postgres.restart();
    await expect.poll(async () => (await ask(registry, '/readyz')).status, { timeout: 120_000 }).toBe(200);
    expect((await publish(registry, 'Flow', '1.2.0')).status).toBe(201);
    expect(await (await ask(registry, '/functions?q=flow')).text()).toContain('1.2.0');
    await servers.stop(registry);
  });

  it('does not start with another database than before', async () => {
    const url = await servers.postgres.createDatabase();
    await servers.stop(await start('moved', url));
    const refused = async (name: string, env: Record<string, string>) => {
      const args = ['serve', '--port', '0', '--data', servers.at(name)];
      const { code, stderr } = await krmhub(args, { env });
      return [code, stderr] as const;
    };
    expect(await refused('moved', {})).toEqual([
      5,
      expect.stringContaining('the database of this registry is in PostgreSQL'),
    ]);
    const moved = ['--data', servers.at('moved')];
    for (const args of [['fsck'], ['backup', '--out', servers.at('backup')]]) {
      const { code, stderr } = await krmhub([...args, ...moved]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('is in PostgreSQL')]);
    }
    expect(await krmhub(['key', 'list', ...moved])).toMatchObject({ code: 0 });
    await servers.stop(await servers.start(servers.at('sqlite')));
    expect(await refused('sqlite', { KRMHUB_DATABASE_URL: url })).toEqual([
      5,
      expect.stringMatching(/the database of this registry is .*registry\.db, not in PostgreSQL/),
    ]);
  });

  it('never prints the password', async () => {
    const data = ['--data', servers.at('secret')];
    for (const [url, args] of [
      // A start would wait for this server.
      ['postgres://u:s3cret@127.0.0.1:1/krmhub', ['migrate']],
      ['postgres://u:s3cret@:x/', ['serve', '--port', '0']],
      ['s3cret', ['serve', '--port', '0']],
    ] as const) {
      const { code, stdout, stderr } = await krmhub([...args, ...data], {
        env: { KRMHUB_DATABASE_URL: url },
      });
      expect(code).toBeGreaterThan(0);
      expect(stdout + stderr).not.toContain('s3cret');
    }
    expect(readFileSync(servers.at('moved/database.json'), 'utf8')).toBe('{"database":"postgres"}\n');
  });
});
