import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Database } from '../../apps/registry/src/store/sqlite/driver.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';

type Store = Awaited<ReturnType<typeof openSqliteStore>>;

/** An empty SQLite store of a contract. */
export interface SqliteHarness {
  store: Store;
  reopen(): Promise<Store>;
  /** Runs a statement in another connection. */
  run(sql: string): Promise<unknown>;
  dispose(): Promise<void>;
}

export async function openSqliteFile(): Promise<SqliteHarness> {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-store-'));
  const file = path.join(folder, 'registry.db');
  let store = await openSqliteStore(file);
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore(file);
      return store;
    },
    async run(sql) {
      const other = new Database(file);
      other.exec(sql);
      other.close();
    },
    async dispose() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
