import { dataPaths } from '../../apps/registry/src/store/data-folder.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { accessText, storeTeamToken } from '../../apps/registry/src/testing/access.js';

/** Writes an Access document with this `spec` into a data folder, while no process serves it. */
export async function storeAccess(data: string, spec: string): Promise<void> {
  const store = await openSqliteStore(dataPaths(data).database);
  try {
    const at = new Date().toISOString();
    await store.applyAccess({
      text: accessText(spec),
      expectedRevision: (await store.access())?.revision ?? 0,
      appliedAt: at,
      appliedBy: 'test',
      event: { type: 'access.applied', at, by: 'test' },
    });
  } finally {
    await store.close();
  }
}

/** Writes a token of a team into a data folder, while no process serves it. Returns its secret. */
export async function storeToken(data: string, team: string): Promise<string> {
  const store = await openSqliteStore(dataPaths(data).database);
  try {
    return await storeTeamToken(store, team);
  } finally {
    await store.close();
  }
}
