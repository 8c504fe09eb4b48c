import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { registryStoreContract } from './registry-store.js';
import { openSqliteFile } from './sqlite.js';

registryStoreContract('SQLite in a file', openSqliteFile);

registryStoreContract('SQLite in memory', async () => {
  const store = await openSqliteStore(':memory:');
  return { store, dispose: () => store.close() };
});
