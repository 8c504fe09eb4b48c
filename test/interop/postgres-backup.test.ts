import { cpSync, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresMissing, query } from '../contracts/postgres.js';
import { GROUP, releasePath } from '../faults/workload.js';
import { outputOf } from '../processes.js';
import { postgresPrograms } from '../replicas/missing.js';
import { krmhubHere } from '../run-here.js';
import type { RunningRegistry } from '../running.js';
import { ask, blobPath, publish, pushBlob, useServers } from './servers.js';
import { storeAccess, storeToken } from './stored-access.js';

/** Runs a client program of PostgreSQL. */
const client = (program: string, ...args: string[]) =>
  outputOf(path.join(postgresPrograms()!, program), args);

describe.skipIf(postgresMissing)('backups of a registry in PostgreSQL (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });
  const { at, stop } = servers;
  const start = (data: string, url?: string) =>
    servers.start(data, url === undefined ? {} : { KRMHUB_DATABASE_URL: url });
  const blob = Buffer.alloc(300_000, 'blob');
  const fill = async (registry: RunningRegistry) => {
    for (const kind of ['Kept', 'Secret']) expect((await publish(registry, kind)).status).toBe(201);
    expect((await pushBlob(registry, blob)).status).toBe(201);
  };
  const contentOf = async (registry: RunningRegistry) => {
    const texts = ['/catalogs/default/catalog.yaml', '/functions?q=kept', blobPath(blob)];
    return Promise.all(texts.map(async (target) => (await ask(registry, target)).text()));
  };
  const run = async (args: string[]) => {
    const { code, stderr, stdout } = await krmhubHere(args);
    expect([args[0], code, stderr, stdout]).toEqual([args[0], 0, expect.any(String), expect.any(String)]);
  };

  it('are made while it runs, and restore to either database', async () => {
    const url = await servers.postgres.createDatabase();
    const registry = await start(at('first'), url);
    await fill(registry);
    const before = await contentOf(registry);
    await run(['backup', '--data', at('first'), '--database-url', url, '--out', at('backup')]);
    await run(['fsck', '--data', at('backup')]);
    expect(readdirSync(at('backup')).sort()).toEqual([
      'admin.token',
      'artifacts',
      'backup.json',
      'blobs',
      'copies',
      'keys',
      'registry.db',
    ]);
    const gone = await krmhubHere(['takedown', `${GROUP}/Secret@1.0.0`, '--reason', 'leak', '--yes'], {
      env: registry.env,
    });
    expect([gone.code, gone.stderr]).toEqual([0, expect.any(String)]);
    await run(['fsck', '--data', at('first'), '--database-url', url]);
    await stop(registry);

    const restored = await servers.postgres.createDatabase();
    const target = ['--data', at('postgres'), '--database-url', restored];
    const used = await krmhubHere(['restore', at('backup'), '--data', at('used'), '--database-url', url]);
    expect([used.code, used.stderr]).toEqual([2, expect.stringContaining('already contains a registry')]);
    await run(['restore', at('backup'), ...target]);
    await run(['restore', at('backup'), '--data', at('sqlite')]);
    expect(existsSync(at('postgres/registry.db'))).toBe(false);
    await run(['fsck', ...target]);
    for (const again of [await start(at('postgres'), restored), await start(at('sqlite'))]) {
      expect(await contentOf(again)).toEqual(before);
      expect((await publish(again, 'Later')).status).toBe(201);
      await stop(again);
    }
    await run(['fsck', ...target]);

    // The takedown after the backup is applied again.
    const third = await servers.postgres.createDatabase();
    const takedowns = ['--takedowns', at('first/takedowns.jsonl')];
    await run(['restore', at('backup'), '--data', at('third'), '--database-url', third, ...takedowns]);
    const last = await start(at('third'), third);
    const { status } = await ask(
      last,
      `${releasePath({ kind: 'Secret', release: '1.0.0' })}/definition.yaml`,
    );
    expect(status).toBe(410);
    await stop(last);
  });

  it.each([
    [
      'custom',
      (file: string, url: string) => client('pg_restore', '--exit-on-error', '--no-owner', '-d', url, file),
    ],
    [
      'plain',
      (file: string, url: string) =>
        client('psql', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', url, '-f', file),
    ],
  ] as const)(
    'can be dumps of PostgreSQL in the format %s, with a later copy of the data folder',
    async (format, restore) => {
      const url = await servers.postgres.createDatabase();
      const registry = await start(at(`${format}-data`), url);
      await fill(registry);
      const before = await contentOf(registry);
      // The processes, and who leads, are in the dump.
      client('pg_dump', `--format=${format}`, '--file', at(`${format}.dump`), url);
      const gone = await krmhubHere(['takedown', `${GROUP}/Secret@1.0.0`, '--reason', 'leak', '--yes'], {
        env: registry.env,
      });
      expect([gone.code, gone.stderr]).toEqual([0, expect.any(String)]);
      expect((await publish(registry, 'Lost')).status).toBe(201);
      await stop(registry);
      cpSync(at(`${format}-data`), at(`${format}-copy`), {
        recursive: true,
        filter: (file) => !file.includes('search.db'),
      });

      const restored = await servers.postgres.createDatabase(`ENCODING 'UTF8' TEMPLATE template0`);
      restore(at(`${format}.dump`), restored);
      const target = ['--data', at(`${format}-copy`), '--database-url', restored];
      expect((await krmhubHere(['migrate', ...target])).code).toBe(0);
      const again = await start(at(`${format}-copy`), restored);
      const [catalog, , file] = await contentOf(again);
      expect([catalog!.includes('Kept'), catalog!.includes('Secret'), file]).toEqual([
        true,
        false,
        before[2],
      ]);
      const secret = `${releasePath({ kind: 'Secret', release: '1.0.0' })}/definition.yaml`;
      expect((await ask(again, secret)).status).toBe(410);
      for (const kind of ['Lost', 'Later']) expect((await publish(again, kind)).status).toBe(201);
      expect(await (await ask(again, '/functions?q=later')).text()).toContain('Later');
      await stop(again);
      await run(['fsck', ...target]);
      await run(['backup', ...target, '--out', at(`${format}-backup`)]);
    },
  );

  it('can be made of SQLite, and restored to PostgreSQL', async () => {
    const registry = await start(at('embedded'));
    await fill(registry);
    const before = await contentOf(registry);
    await run(['backup', '--data', at('embedded'), '--out', at('embedded-backup')]);
    await stop(registry);
    const url = await servers.postgres.createDatabase();
    await run(['restore', at('embedded-backup'), '--data', at('moved'), '--database-url', url]);
    const again = await start(at('moved'), url);
    expect(await contentOf(again)).toEqual(before);
    await stop(again);
  });

  it('carry who may read what to the other database and back', async () => {
    const registry = await start(at('hidden'));
    await fill(registry);
    await stop(registry);
    const rules = `teams: [{name: ours}]
groups: [{pattern: ${GROUP}, owner: ours, visibility: private}]
repositories: [{pattern: "team/*", visibility: private}]
`;
    await storeAccess(at('hidden'), rules);
    const ours = `Bearer ${await storeToken(at('hidden'), 'ours')}`;
    const targets = [releasePath({ kind: 'Kept', release: '1.0.0' }), blobPath(blob)];
    const seen = async (again: RunningRegistry) => {
      const statuses = async (authorization?: string) =>
        Promise.all(
          targets.map(async (target) => {
            const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
            return (await fetch(again.url + target, { headers })).status;
          }),
        );
      const catalog = await (await fetch(`${again.url}/catalogs/default/catalog.yaml`)).text();
      const result = [await statuses(), await statuses(ours), catalog.includes('Kept')];
      await stop(again);
      return result;
    };
    // A team that owns a group reads it, and has no grant on the repository.
    const expected = [[404, 401], [200, 404], false];
    expect(await seen(await start(at('hidden')))).toEqual(expected);
    await run(['backup', '--data', at('hidden'), '--out', at('hidden-backup')]);
    const url = await servers.postgres.createDatabase();
    const target = ['--data', at('hidden-postgres'), '--database-url', url];
    await run(['restore', at('hidden-backup'), ...target]);
    await run(['fsck', ...target]);
    expect(await seen(await start(at('hidden-postgres'), url))).toEqual(expected);
    await run(['backup', ...target, '--out', at('hidden-again')]);
    await run(['restore', at('hidden-again'), '--data', at('hidden-sqlite')]);
    await run(['fsck', '--data', at('hidden-sqlite')]);
    expect(await seen(await start(at('hidden-sqlite')))).toEqual(expected);
  });

  it('are checked for the same damage', async () => {
    const url = await servers.postgres.createDatabase();
    const registry = await start(at('damaged'), url);
    await fill(registry);
    await stop(registry);
    await query(
      url,
      `UPDATE release SET size = size + 1 WHERE id = 1; DELETE FROM event WHERE sequence = 2;
       UPDATE entry SET yaml = yaml || ' ' WHERE digest = (SELECT min(digest) FROM entry)`,
    );
    const args = ['fsck', '--data', at('damaged'), '--database-url', url, '-o', 'json'];
    const { code, stdout } = await krmhubHere(args);
    const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string }[] };
    const found = new Set(findings.map(({ check }) => check));
    expect([code, [...found]]).toEqual([
      1,
      expect.arrayContaining(['releases', 'events', 'entries', 'snapshots']),
    ]);
    const backup = await krmhubHere([
      ...['backup', '--data', at('damaged'), '--database-url', url, '--out', at('none')],
    ]);
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining('backup failed: the copy has')]);
    expect(existsSync(at('none'))).toBe(false);
  });

  it('need a migrated database', async () => {
    const url = await servers.postgres.createDatabase();
    const migrate = async (args: string[]) => {
      const { code, stdout } = await krmhubHere(['migrate', '--data', at('migrated'), ...args, '-o', 'json']);
      return [code, JSON.parse(stdout)] as const;
    };
    const none = await krmhubHere(['migrate', '--data', at('migrated')]);
    expect([none.code, none.stderr]).toEqual([5, expect.stringContaining('no registry found')]);
    expect(existsSync(at('migrated'))).toBe(false);
    const some = { applied: expect.toSatisfy((count: number) => count > 2) };
    const args = ['--database-url', url];
    expect(await migrate(args)).toEqual([0, some]);
    expect(await migrate(args)).toEqual([0, { applied: 0 }]);
    await query(url, `DELETE FROM migration WHERE hash = (SELECT hash FROM migration ORDER BY hash LIMIT 1)`);
    const { code, stderr } = await krmhubHere(['fsck', '--data', at('nothing'), '--database-url', url]);
    expect([code, stderr]).toEqual([
      5,
      expect.stringMatching(/is not migrated yet\n.*the version that last served it.*krmhub migrate/),
    ]);
  });

  it('say where the database is, and whether it has a registry', async () => {
    const empty = await servers.postgres.createDatabase();
    const { code, stderr } = await krmhubHere(['fsck', '--data', at('nothing'), '--database-url', empty]);
    expect([code, stderr]).toEqual([5, expect.stringContaining('no registry found in the database')]);
  });
});
