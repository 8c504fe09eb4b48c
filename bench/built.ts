import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type BetterSqlite3 from 'better-sqlite3';

/** Imports from the built tree, because users run that. This file is in bench/dist when it runs. */
export const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
/** The path that npm links as `krmhub`. */
export const linkedCommand = path.join(root, 'apps/cli/bin/krmhub.js');
export const benchFile = (name: string): string => path.join(root, 'bench/dist', name);

const store = (name: string): Promise<unknown> =>
  import(new URL(`../../apps/registry/dist/store/${name}.js`, import.meta.url).href);

/** The registry's stores, which its package does not export. */
export async function registryStores() {
  const { openSqliteStore } = (await store(
    'sqlite/store',
  )) as typeof import('../apps/registry/src/store/sqlite/store.js');
  const { releaseArtifact } = (await store(
    'artifacts/release-artifact',
  )) as typeof import('../apps/registry/src/store/artifacts/release-artifact.js');
  return { openSqliteStore, releaseArtifact };
}

/** SQLite without the registry around it. */
export async function sqlite(): Promise<typeof BetterSqlite3> {
  const { Database } = (await store(
    'sqlite/driver',
  )) as typeof import('../apps/registry/src/store/sqlite/driver.js');
  return Database;
}

/** Imports the function that connects to PostgreSQL. */
export async function postgresClient() {
  return (await store('postgres/client')) as typeof import('../apps/registry/src/store/postgres/client.js');
}

/** Imports the function that turns a query into a full-text expression. */
export async function searchText() {
  return (await store('search/text')) as typeof import('../apps/registry/src/store/search/text.js');
}
