import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Database } from './driver.js';
import { LogSync } from './log-sync.js';

let folder: string;
let file: string;
let client: BetterSqlite3.Database;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-log-sync-'));
  file = path.join(folder, 'registry.db');
  client = new Database(file, { timeout: 5 });
  client.pragma('journal_mode = WAL');
  client.pragma('synchronous = NORMAL');
  client.pragma('wal_autocheckpoint = 0');
  client.exec('CREATE TABLE stored (id INTEGER PRIMARY KEY)');
});
afterEach(async () => {
  client.close();
  await rm(folder, { recursive: true, force: true });
});

const fails = (code: string) => async () => {
  throw Object.assign(new Error(`${code}: fdatasync`), { code });
};

/** Rows of the database file without its log, which a failed sync may have lost. */
async function rowsWithoutLog(): Promise<number> {
  const copy = path.join(folder, 'copy.db');
  await copyFile(file, copy);
  const read = new Database(copy);
  try {
    return read.prepare('SELECT count(*) FROM stored').pluck().get() as number;
  } finally {
    read.close();
    await Promise.all(['', '-wal', '-shm'].map((end) => rm(`${copy}${end}`, { force: true })));
  }
}

it('moves commits into the database if their sync fails', async () => {
  const log = new LogSync(client, { syncFile: fails('EIO') });
  client.exec('INSERT INTO stored VALUES (1)');
  await log.sync();
  expect(await rowsWithoutLog()).toBe(1);
  await log.durable();
});

it.each([
  ['EIO', 'unavailable'],
  ['ENOSPC', 'storage-full'],
])('rejects after %s until commits are durable', async (error, code) => {
  const log = new LogSync(client, { syncFile: fails(error), patience: 30 });
  client.exec('INSERT INTO stored VALUES (1)');
  const reader = new Database(file, { readonly: true });
  const rows = reader.prepare('SELECT id FROM stored').iterate();
  rows.next();
  client.exec('INSERT INTO stored VALUES (2)');
  await expect(log.sync()).rejects.toMatchObject({ code });
  await expect(log.durable()).rejects.toMatchObject({ code });
  rows.return?.();
  reader.close();
  await log.durable();
  expect(await rowsWithoutLog()).toBe(2);
});

it('waits for a sync that runs', async () => {
  const ends: (() => void)[] = [];
  const log = new LogSync(client, { syncFile: () => new Promise((resolve) => ends.push(resolve)) });
  const done: string[] = [];
  const syncing = log.sync().then(() => done.push('synced'));
  const durable = log.durable().then(() => done.push('durable'));
  await expect.poll(() => ends).toHaveLength(1);
  expect(done).toEqual([]);
  ends[0]!();
  await Promise.all([syncing, durable]);
  expect(done.sort()).toEqual(['durable', 'synced']);
});
