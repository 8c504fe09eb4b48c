import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Connection, openConnection } from './connection.js';
import { Database } from './driver.js';
import { type CheckpointThread, checkpointThread, LogCheckpoint, type LogPages } from './log-checkpoint.js';

const LIMITS = { long: 40, tail: 10, retry: 20, max: 200 };

let folder: string;
let file: string;
let connection: Connection;
let other: BetterSqlite3.Database;
const warnings: unknown[] = [];
const log = { warn: (given: unknown) => void warnings.push(given) };
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-log-checkpoint-'));
  file = path.join(folder, 'registry.db');
  connection = openConnection(file);
  connection.client.exec('CREATE TABLE stored (bytes BLOB NOT NULL)');
  connection.client.pragma('wal_checkpoint(TRUNCATE)');
  other = new Database(file, { timeout: 5 });
  warnings.length = 0;
});
afterEach(async () => {
  other.close();
  connection.close();
  await rm(folder, { recursive: true, force: true });
});

/** A thread that works in this one, on its own connection. */
function thread(around: (work: () => void) => Promise<unknown> | unknown = (work) => work()) {
  const calls: string[] = [];
  const fake: CheckpointThread = {
    async call(method) {
      calls.push(method);
      await around(() => void other.pragma(`wal_checkpoint(${method.toUpperCase()})`));
    },
    close: async () => undefined,
  };
  return { calls, thread: fake };
}

/** Writes rows of one page each, each in its own transaction. */
async function write(rows: number): Promise<void> {
  for (let row = 0; row < rows; row++) await writeOne();
}

function writeOne(): Promise<unknown> {
  return connection.write(() =>
    connection.client.prepare('INSERT INTO stored VALUES (zeroblob(4000))').run(),
  );
}

const pages = () => connection.client.prepare<[], LogPages>('PRAGMA wal_checkpoint(NOOP)').get()!;

it('begins a long log again in another thread', async () => {
  const { calls, thread: started } = thread();
  const checkpoint = new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  while (pages().log < LIMITS.long) {
    expect(calls).toEqual([]);
    await writeOne();
  }
  await checkpoint.close();
  expect(calls).toEqual(['passive', 'restart']);
  await writeOne();
  expect(pages().log).toBeLessThan(LIMITS.long / 2);
  expect(pages().checkpointed).toBe(0);
  expect(warnings).toEqual([]);
});

it('holds up writes only while the rest of the log is moved', async () => {
  const ends: (() => void)[] = [];
  const { calls, thread: started } = thread(
    (work) =>
      new Promise<void>((resolve) => {
        ends.push(() => {
          work();
          resolve();
        });
      }),
  );
  const checkpoint = new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  await write(25);
  expect(calls).toEqual(['passive']);
  await write(5);
  ends[0]!();
  await expect.poll(() => calls).toEqual(['passive', 'restart']);
  let isWritten = false;
  const writing = writeOne().then(() => {
    isWritten = true;
  });
  // Everything that does not wait runs meanwhile.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isWritten).toBe(false);
  ends[1]!();
  await writing;
  await checkpoint.close();
  expect(pages().log).toBeLessThan(LIMITS.long / 2);
});

it('tries again later while a reader blocks it', async () => {
  const { calls, thread: started } = thread();
  new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  await writeOne();
  const reader = new Database(file, { readonly: true });
  const rows = reader.prepare('SELECT rowid FROM stored').iterate();
  rows.next();
  while (calls.length < 2) await writeOne();
  const { log: length } = pages();
  while (calls.length < 4) await writeOne();
  expect(pages().log).toBeGreaterThanOrEqual(length + LIMITS.retry);
  rows.return?.();
  reader.close();
  while (pages().log >= LIMITS.long) await writeOne();
  expect(warnings).toEqual([]);
});

it('writes, with a log of limited length, if the thread fails', async () => {
  const { calls, thread: started } = thread(() => Promise.reject(new Error('no thread')));
  new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  let longest = 0;
  for (let row = 0; row < 200; row++) {
    await writeOne();
    longest = Math.max(longest, pages().log);
  }
  expect(longest).toBeGreaterThan(LIMITS.max - 10);
  expect(longest).toBeLessThan(LIMITS.max + 10);
  expect(calls.length).toBeGreaterThan(2);
  expect(calls.length).toBeLessThan(50);
  expect(warnings).toHaveLength(calls.length);
});

it('writes although the length of the log cannot be read', async () => {
  const { thread: started } = thread();
  const checkpoint = new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  const { client } = connection;
  let rows: IterableIterator<unknown> | undefined;
  const written = connection.write(() => {
    client.prepare('INSERT INTO stored VALUES (zeroblob(4000))').run();
    // A reader between the commit and what follows it: the driver refuses other statements meanwhile.
    queueMicrotask(() => {
      rows = client.prepare('SELECT rowid FROM stored').iterate();
      rows.next();
    });
  });
  await written;
  expect(warnings).toHaveLength(1);
  rows!.return?.();
  await write(LIMITS.long);
  await checkpoint.close();
  expect(pages().log).toBeLessThan(LIMITS.long);
});

it('tries again if the length of the log cannot be read after an attempt', async () => {
  let rows: IterableIterator<unknown> | undefined;
  const { calls, thread: started } = thread((work) => {
    work();
    if (calls.length > 2) return;
    rows ??= connection.client.prepare('SELECT rowid FROM stored').iterate();
    rows.next();
  });
  const checkpoint = new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  while (calls.length < 2) await writeOne();
  await expect.poll(() => warnings).not.toEqual([]);
  rows!.return?.();
  while (calls.length < 4) await writeOne();
  await checkpoint.close();
});

it('leaves the log to COMMIT once it is closed', async () => {
  const { calls, thread: started } = thread();
  const checkpoint = new LogCheckpoint(connection, { thread: started, log, limits: LIMITS });
  await checkpoint.close();
  await write(LIMITS.long);
  expect(calls).toEqual([]);
  expect(pages().log).toBeGreaterThan(LIMITS.long);
});

it('moves the log in a worker thread', async () => {
  const worker = checkpointThread(file, pino({ level: 'silent' }));
  try {
    await write(20);
    expect(pages()).toMatchObject({ checkpointed: 0 });
    await worker.call('passive');
    const { log: length, checkpointed } = pages();
    expect(length).toBeGreaterThan(20);
    expect(checkpointed).toBe(length);
    await worker.call('restart');
    await write(1);
    expect(pages().log).toBeLessThan(length);
  } finally {
    await worker.close();
  }
});
