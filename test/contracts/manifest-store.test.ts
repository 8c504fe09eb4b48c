import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { manifestStoreContract } from './manifest-store.js';
import { takeDownBytes } from './sample-records.js';

manifestStoreContract('SQLite in a file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-store-'));
  const file = path.join(folder, 'registry.db');
  let store = await openSqliteStore(file);
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openSqliteStore(file);
      return store;
    },
    takeDown: (digest) => takeDownBytes(store, digest),
    dispose: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

manifestStoreContract('SQLite in memory', async () => {
  const store = await openSqliteStore(':memory:');
  return { store, takeDown: (digest) => takeDownBytes(store, digest), dispose: () => store.close() };
});
