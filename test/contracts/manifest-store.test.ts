import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Digest } from '@krmhub/schema';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { manifestStoreContract } from './manifest-store.js';
import { AT } from './sample-records.js';

async function takeDownBytes(store: RegistryStore, digest: Digest): Promise<void> {
  const name = { group: 'example.com', kind: 'Bad' };
  await store.commitTakedown({
    ...name,
    expectedRevision: 0,
    takedowns: [{ ...name, release: '1.0.0', digest, at: AT, by: 'root', reason: 'malware' }],
  });
}

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
