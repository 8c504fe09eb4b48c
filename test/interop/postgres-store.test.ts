import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { dataPaths } from '../../apps/registry/src/store/data-folder.js';
import { openStore } from '../../apps/registry/src/store/open-store.js';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { openPostgresStore } from '../../apps/registry/src/store/postgres/store.js';
import { text } from '../../apps/registry/src/store/sql/statement.js';
import { catalogBuildsContract } from '../contracts/catalog-builds.js';
import { manifestStoreContract } from '../contracts/manifest-store.js';
import { postgresMissing, query } from '../contracts/postgres.js';
import { registryStoreContract } from '../contracts/registry-store.js';
import { publishScript, takeDownBytes } from '../contracts/sample-records.js';
import { useServers } from './servers.js';

describe.skipIf(postgresMissing)('with a server (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });
  beforeAll(async () => {
    await migratePostgres(await servers.postgres.createDatabase());
  });

  it('deletes what is unused after a takedown, but not what a write begins to use', async () => {
    const url = await servers.postgres.createDatabase('TEMPLATE krmhub1 STRATEGY FILE_COPY');
    await query(
      url,
      `INSERT INTO entry (digest, yaml, json) VALUES ('stored', '', ''), ('unused', '', '');
       INSERT INTO catalog (name, recipe, applied_at, applied_by, applied_event, through_event)
       VALUES ('one', '', now(), '', 0, 0);
       INSERT INTO takedown (id, group_name, kind, kind_folded, release, digest, at, by, reason, revision, finished)
       VALUES (1, 'example.com', 'One', 'one', '1.0.0', 'sha256:0', now(), '', '', 1, false)`,
    );
    const state = text<{ waiting: number; entries: number }>(
      `SELECT pg_sleep(0.01), (SELECT count(*) FROM pg_locks WHERE NOT granted) AS waiting,
         (SELECT count(*) FROM entry) AS entries`,
    );
    const use = text<never>(
      `INSERT INTO catalog_function (catalog, group_name, kind, from_serial, entry, selection)
       VALUES ('one', 'example.com', 'One', 1, 'stored', '{}')`,
    );
    const { store, sql } = openPostgresStore(url);
    let finished: Promise<void> | undefined;
    await sql.write(function* () {
      finished = store.finishTakedowns();
      for (;;) {
        const { waiting, entries } = (yield* state.first())!;
        if (waiting > 0 || entries < 2) break;
      }
      yield* use.run();
    });
    await finished;
    expect(await query(url, 'SELECT digest FROM entry')).toEqual([{ digest: 'stored' }]);
    expect(await store.unfinishedTakedowns()).toBeUndefined();
    await store.close();
  });

  const open = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-store-'));
    const url = await servers.postgres.createDatabase('TEMPLATE krmhub1 STRATEGY FILE_COPY');
    const options = {
      paths: dataPaths(folder),
      // Rows of the contract name files that do not exist.
      sharedBlobs: true,
      threads: false,
      log: pino({ level: 'silent' }),
    };
    let { store } = await openStore({ url }, options);
    // A new index is filled in the background.
    await store.synchronizeSearch();
    return {
      store,
      reopen: async () => {
        await store.close();
        ({ store } = await openStore({ url }, options));
        return store;
      },
      join: async () => {
        const paths = { ...options.paths, searchIndex: path.join(folder, 'other.db') };
        const other = await openStore({ url }, { ...options, paths });
        await other.store.synchronizeSearch();
        return other.store;
      },
      run: (sql: string) => query(url, sql),
      dispose: async () => {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  };
  registryStoreContract('PostgreSQL', open);
  catalogBuildsContract('PostgreSQL', open);
  manifestStoreContract('PostgreSQL', async () => {
    const { store, ...harness } = await open();
    return {
      ...harness,
      store,
      takeDown: (digest) => takeDownBytes(store, digest),
      publish: (kind, script) => publishScript(store, kind, script),
    };
  });
});
