import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { manifestStoreContract } from './manifest-store.js';
import { publishScript, takeDownBytes } from './sample-records.js';
import { openSqliteFile } from './sqlite.js';

manifestStoreContract('SQLite in a file', async () => {
  const harness = await openSqliteFile();
  // A store that was opened again has the database of the one before.
  let { store } = harness;
  return {
    ...harness,
    async reopen() {
      store = await harness.reopen();
      return store;
    },
    takeDown: (digest) => takeDownBytes(store, digest),
    publish: (kind, script) => publishScript(store, kind, script),
  };
});

manifestStoreContract('SQLite in memory', async () => {
  const store = await openSqliteStore(':memory:');
  return {
    store,
    takeDown: (digest) => takeDownBytes(store, digest),
    publish: (kind, script) => publishScript(store, kind, script),
    dispose: () => store.close(),
  };
});
