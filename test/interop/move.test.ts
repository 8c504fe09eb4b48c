import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { findLeaks } from '../authorization/check-seen.js';
import { openWorld, SEEN_SETTINGS, settle, type World, worldAt } from '../authorization/seen-world.js';
import { query } from '../contracts/postgres.js';
import { releasePath } from '../faults/workload.js';
import { finished, spawn } from '../processes.js';
import { replicasMissing } from '../replicas/missing.js';
import { krmhubHere } from '../run-here.js';
import { cleanEnvironment, command, krmhub, type RunningRegistry } from '../running.js';
import { S3_ENVIRONMENT } from './s3-server.js';
import { ask, blobPath, publish, pushBlob, useServers } from './servers.js';

describe.skipIf(replicasMissing)('krmhub move (needs PostgreSQL and versitygw)', () => {
  const servers = useServers({ postgres: true, s3: true });
  const { at, folder, stop } = servers;
  const start = async (data: string, settings: Record<string, string> = {}) => {
    const registry = await servers.start(data, settings);
    // It is ready once it has read a snapshot of each catalog.
    await expect.poll(async () => (await fetch(`${registry.url}/readyz`)).status).toBe(200);
    return registry;
  };
  const blob = Buffer.alloc(300_000, 'blob');
  const fill = async (registry: RunningRegistry) => {
    for (const kind of ['First', 'Second']) expect((await publish(registry, kind)).status).toBe(201);
    expect((await pushBlob(registry, blob)).status).toBe(201);
  };
  const TARGETS = [
    '/catalogs/default/catalog.yaml',
    '/functions?q=first',
    blobPath(blob),
    `${releasePath({ kind: 'Second', release: '1.0.0' })}/definition.yaml`,
    '/readyz',
  ];
  const read = async (registry: RunningRegistry) => {
    const texts: Record<string, [number, string]> = {};
    for (const target of TARGETS) {
      const response = await ask(registry, target);
      const text = await response.text();
      // The checks of a registry with PostgreSQL are others.
      texts[target] = [response.status, target === '/readyz' ? '' : text];
    }
    return texts;
  };
  /** Reads all the time, and collects what differs from the first answers. */
  const reader = (registry: RunningRegistry, expected: Awaited<ReturnType<typeof read>>) => {
    let going = true;
    const wrong: unknown[] = [];
    let reads = 0;
    const done = (async () => {
      while (going) {
        const found = await read(registry);
        reads += 1;
        for (const target of TARGETS) {
          if (JSON.stringify(found[target]) !== JSON.stringify(expected[target]))
            wrong.push([target, found[target]]);
        }
      }
    })();
    return async () => {
      going = false;
      await done;
      expect(wrong).toEqual([]);
      expect(reads).toBeGreaterThan(0);
    };
  };
  const run = async (args: string[], env: Record<string, string> = {}) => {
    const { code, stderr, stdout } = await krmhubHere(args, { env });
    expect([args, code, stderr, stdout]).toEqual([args, 0, expect.any(String), expect.any(String)]);
    return stderr;
  };
  const refused = async (data: string, env: Record<string, string> = {}) => {
    const { code, stderr } = await krmhub(['serve', '--port', '0', '--data', data], { env });
    return [code, stderr] as const;
  };

  it('moves a registry to PostgreSQL and S3 and back, while others read', async () => {
    const url = await servers.postgres.createDatabase();
    const first = await start(at('first'));
    await fill(first);
    const before = await read(first);
    expect(Object.values(before).map(([status]) => status)).toEqual(TARGETS.map(() => 200));
    let readers = reader(first, before);
    const blobUrl = servers.s3.blobUrl('moved');
    const target = ['--to-data', at('second'), '--to-database-url', url, '--to-blob-url', blobUrl];
    const moved = ['move', '--data', at('first'), ...target];
    expect(await run(moved, S3_ENVIRONMENT)).toContain(
      'every file and row of the copy is verified by digest',
    );
    await readers();
    // Registries of two machines must not both change.
    const rejected = await publish(first, 'Third');
    expect([rejected.status, await rejected.json()]).toEqual([
      503,
      expect.objectContaining({
        detail: expect.stringContaining('the registry is moved to another place'),
      }),
    ]);
    expect(await read(first)).toEqual(before);
    expect(await run(moved, S3_ENVIRONMENT)).toContain('the registry was moved');
    await stop(first);
    expect(await refused(at('first'))).toEqual([
      5,
      expect.stringContaining('the registry is moved to the database'),
    ]);

    const settings = { ...S3_ENVIRONMENT, KRMHUB_DATABASE_URL: url, KRMHUB_BLOB_URL: blobUrl };
    // A process that has nothing but the keys and the token can start first; one with other keys cannot.
    mkdirSync(at('empty'), { mode: 0o700 });
    copyFileSync(`${at('second')}/admin.token`, `${at('empty')}/admin.token`);
    const empty = await start(at('empty'), { ...settings, KRMHUB_KEYS: `${at('second')}/keys` });
    expect(await read(empty)).toEqual(before);
    await stop(empty);
    await stop(await start(at('strange')));
    expect(await refused(at('foreign'), { ...settings, KRMHUB_KEYS: `${at('strange')}/keys` })).toEqual([
      expect.any(Number),
      expect.stringContaining('are not those of the registry in the database'),
    ]);
    const second = await start(at('second'), settings);
    expect(await read(second)).toEqual(before);
    expect((await publish(second, 'Third')).status).toBe(201);
    await run(['fsck', '--data', at('second')], settings);
    // A process that never ran finds the files too.
    await run(['fsck', '--data', at('unused')], { ...settings, KRMHUB_KEYS: `${at('second')}/keys` });
    const later = await read(second);
    readers = reader(second, later);
    await run(['move', '--data', at('second'), '--to-data', at('third')], settings);
    await readers();
    expect((await publish(second, 'Fourth')).status).toBe(503);
    await stop(second);
    expect(await refused(at('second'), settings)).toEqual([
      5,
      expect.stringContaining('the registry is moved to'),
    ]);
    const third = await start(at('third'));
    expect(await read(third)).toEqual(later);
    expect((await publish(third, 'Fourth')).status).toBe(201);
    await stop(third);
    await run(['fsck', '--data', at('third')]);
    // Given up: the registry continues where it was.
    expect(await run(['move', '--undo', '--data', at('first')])).toContain('can be served here again');
    const again = await start(at('first'));
    expect((await publish(again, 'Third')).status).toBe(201);
    await stop(again);
  });

  const WAITING = `SELECT 1 FROM pg_locks WHERE NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

  /** Starts a move that waits in the middle of the rows. */
  const startWaiting = async (data: string, args: string[], url: string) => {
    const lock = new pg.Client({ connectionString: url });
    await lock.connect();
    await lock.query('BEGIN; LOCK TABLE event IN SHARE MODE');
    const child = spawn(process.execPath, [command, 'move', '--data', data, ...args], {
      env: cleanEnvironment(folder),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = finished(child);
    await expect.poll(async () => (await query(url, WAITING)).length).toBeGreaterThan(0);
    return { child, ended, unlock: () => lock.end() };
  };

  it('moves who may see what, and what was done', async () => {
    const { registry, world, viewers } = await openWorld(at('seen'));
    const json = async (from: World, target: string) =>
      (await from.request(target, { headers: { Authorization: from.admin } })).json();
    const [access, owners] = [await json(world, '/api/v1/access'), await json(world, '/api/v1/owners')];
    const audit = (await json(world, '/api/v1/audit?limit=1000')) as { rows: unknown[] };
    await registry.stop();
    const url = await servers.postgres.createDatabase();
    await run(['move', '--data', registry.data, '--to-data', at('seen-moved'), '--to-database-url', url]);
    const moved = await start(at('seen-moved'), { ...SEEN_SETTINGS, KRMHUB_DATABASE_URL: url });
    const there = worldAt(moved);
    await settle(there);
    expect(await json(there, '/api/v1/access')).toEqual(access);
    expect(await json(there, '/api/v1/owners')).toEqual(owners);
    const rows = ((await json(there, '/api/v1/audit?limit=1000')) as typeof audit).rows;
    expect(audit.rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(expect.arrayContaining(audit.rows));
    expect(rows).toContainEqual(
      expect.objectContaining({
        ...{ sequence: audit.rows.length + 1, actor: 'krmhub', action: 'registry.move' },
        ...{ object: 'registry', detail: { from: registry.data } },
      }),
    );
    await run(['fsck', '--data', at('seen-moved')], { KRMHUB_DATABASE_URL: url });
    // Sessions end with the process.
    const { wrong } = await findLeaks(
      there,
      viewers.filter(({ isSession = false }) => !isSession),
    );
    expect(wrong.join('\n')).toBe('');
    await stop(moved);
  });

  it('continues after it was killed', async () => {
    const url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    const registry = await start(at('killed'));
    await fill(registry);
    const before = await read(registry);
    const args = ['--to-data', at('killed-target'), '--to-database-url', url];
    const { child, ended, unlock } = await startWaiting(at('killed'), args, url);
    // Everyone reads, and changes have a reason.
    expect(await read(registry)).toEqual(before);
    expect((await publish(registry, 'Third')).status).toBe(503);
    child.kill('SIGKILL');
    await ended;
    await unlock();
    expect((await publish(registry, 'Third')).status).toBe(503);
    const env = { KRMHUB_DATABASE_URL: url };
    expect(await refused(at('killed-target'), env)).toEqual([5, expect.stringContaining('is not complete')]);
    const other = ['move', '--data', at('killed'), '--to-data', at('elsewhere')];
    expect(await krmhubHere(other)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is moved to'),
    });
    expect(existsSync(at('elsewhere'))).toBe(false);
    await run(['move', '--data', at('killed'), ...args]);
    await stop(registry);
    const target = await start(at('killed-target'), env);
    expect(await read(target)).toEqual(before);
    await stop(target);
  });

  it('lets the registry change again if it fails', async () => {
    const url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    const registry = await start(at('stopped'));
    await fill(registry);
    const args = ['--to-data', at('stopped-target'), '--to-database-url', url];
    const { child, ended, unlock } = await startWaiting(at('stopped'), args, url);
    child.kill('SIGTERM');
    await sleep(100);
    await unlock();
    expect(await ended).toMatchObject({ code: 5, stderr: expect.stringContaining('move interrupted') });
    expect((await publish(registry, 'Third')).status).toBe(201);
    await run(['move', '--data', at('stopped'), ...args]);
    await stop(registry);
  });

  it('replaces no other registry', async () => {
    const url = await servers.postgres.createDatabase();
    const registry = await start(at('used'), { KRMHUB_DATABASE_URL: url });
    await stop(await start(at('plain')));
    for (const args of [
      ['--to-data', at('new'), '--to-database-url', url],
      ['--to-data', at('used'), '--to-database-url', await servers.postgres.createDatabase()],
      ['--to-data', at('plain')],
    ]) {
      const { code, stderr } = await krmhubHere(['move', '--data', at('plain'), ...args]);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining('already contains a registry')]);
    }
    await stop(registry);
  });
});
