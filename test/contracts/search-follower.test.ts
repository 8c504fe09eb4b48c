import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { SearchFollower } from '../../apps/registry/src/store/sqlite/search/follow/follower.js';
import { createStore } from '../../apps/registry/src/store/sqlite/store.js';
import { registryStoreContract } from './registry-store.js';

const log = pino({ level: 'silent' });

/** A store whose searches read an index in another file. */
async function openFollowed(folder: string): Promise<RegistryStore> {
  const connection = openConnection(path.join(folder, 'registry.db'));
  const store = createStore(connection);
  const follower = new SearchFollower({ record: connection.sql, file: path.join(folder, 'search.db'), log });
  await follower.synchronizeSearch();
  return {
    ...store,
    search: (query) => follower.search(query),
    descriptions: (names) => follower.descriptions(names),
    nearFunctions: (name) => follower.nearFunctions(name),
    synchronizeSearch: (signal) => follower.synchronizeSearch(signal),
    async close() {
      await follower.close();
      await store.close();
    },
  };
}

registryStoreContract('SQLite with a search index in another file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-follower-'));
  let store = await openFollowed(folder);
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openFollowed(folder);
      return store;
    },
    dispose: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
