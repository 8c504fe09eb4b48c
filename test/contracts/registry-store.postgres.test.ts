import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe } from 'vitest';
import { openStore } from '../../apps/registry/src/store/open-store.js';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { type PostgresServer, postgresMissing, startPostgres } from './postgres.js';
import { registryStoreContract } from './registry-store.js';

describe.skipIf(postgresMissing)('with a server (needs PostgreSQL)', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    await migratePostgres(await server.createDatabase());
  });
  afterAll(() => server?.stop());

  registryStoreContract('PostgreSQL', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-store-'));
    const url = await server.createDatabase('TEMPLATE krmhub1 STRATEGY FILE_COPY');
    const options = {
      searchIndex: path.join(folder, 'search.db'),
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
      dispose: async () => {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  });
});
