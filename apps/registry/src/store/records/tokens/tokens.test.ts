import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Connection, openConnection } from '../../sqlite/connection.js';
import { Database } from '../../sqlite/driver.js';
import { tokenRows } from './tokens.js';

const AT = '2030-01-01T00:00:00.000Z';
const LATER = '2030-01-02T00:00:00.000Z';
const token = {
  ...{ id: 'one', name: 'ci', scopes: ['publish'], groups: ['example.com'], repositories: [] },
  ...{ createdAt: AT, createdBy: 'admin' },
};

let folder: string;
let connection: Connection;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tokens-'));
  connection = openConnection(path.join(folder, 'registry.db'));
});
afterEach(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

it('are read once until one changes', async () => {
  const store = tokenRows(connection.sql);
  expect(await store.tokenByHash('hash')).toBeUndefined();
  await store.createToken(token, 'hash');
  const found = await store.tokenByHash('hash');
  expect(found).toEqual(token);
  expect(await store.tokenByHash('hash')).toBe(found);
  await store.touchToken('one', LATER);
  expect(await store.tokenByHash('hash')).toEqual({ ...token, lastUsedAt: LATER });
  await store.revokeToken('one', LATER, { reason: 'leaked' });
  expect(await store.tokenByHash('hash')).toMatchObject({ revokedAt: LATER, revokedReason: 'leaked' });
});

it('are read again after another program changes the database', async () => {
  const store = tokenRows(connection.sql);
  await store.createToken(token, 'hash');
  expect(await store.tokenByHash('hash')).toEqual(token);
  const other = new Database(connection.client.name);
  other.prepare('UPDATE token SET revoked_at = ?').run(LATER);
  other.close();
  expect(await store.tokenByHash('hash')).toEqual({ ...token, revokedAt: LATER });
});
