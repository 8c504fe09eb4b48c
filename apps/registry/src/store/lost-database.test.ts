import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { backupRegistry } from '../operate/backup/backup.js';
import { restoreRegistry } from '../operate/backup/restore.js';
import { checkRegistry } from '../operate/check/check.js';
import { moveRegistry } from '../operate/move/move.js';
import { rotateRegistryKey } from '../operate/operate-keys.js';
import { openTestRegistry } from '../testing/test-registry.js';
import { dataPaths } from './data-folder.js';
import { migrateDatabase } from './migrate-database.js';
import { Database } from './sqlite/driver.js';
import { openSqliteStore } from './sqlite/store.js';

let whole: string;
let parent: string;
let folder: string;

beforeAll(async () => {
  whole = await mkdtemp(path.join(tmpdir(), 'krmhub-whole-'));
  const registry = await openTestRegistry();
  expect((await registry.publish({ kind: 'SetLabels', release: '1.0.0' })).status).toBe(201);
  await registry.parts.close();
  await cp(registry.folder, whole, { recursive: true });
  await rm(registry.folder, { recursive: true });
});
afterAll(() => rm(whole, { recursive: true }));
beforeEach(async () => {
  parent = await mkdtemp(path.join(tmpdir(), 'krmhub-lost-'));
  folder = path.join(parent, 'data');
  await cp(whole, folder, { recursive: true });
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const paths = () => dataPaths(folder);
const start = async () => (await openTestRegistry({ folder })).parts.close();
const remove = async (...files: string[]) => {
  for (const file of files) await rm(file, { recursive: true, force: true });
};
const removeDatabase = () => remove(...['', '-wal', '-shm'].map((end) => `${paths().database}${end}`));

/** Each leaves a folder without the database of its files. */
const LOSSES: [string, () => Promise<void>, RegExp][] = [
  ['a missing database', removeDatabase, /registry\.db is missing, .*keys, blobs/],
  [
    'a database of 0 bytes',
    async () => {
      await removeDatabase();
      await writeFile(paths().database, '');
    },
    /registry\.db is empty, .*keys, blobs/,
  ],
  [
    'a database without tables',
    async () => {
      await removeDatabase();
      const client = new Database(paths().database);
      client.pragma('journal_mode = WAL');
      client.close();
      expect((await stat(paths().database)).size).toBeGreaterThan(0);
    },
    /registry\.db has no tables of a registry/,
  ],
  [
    'the database of another program',
    async () => {
      await removeDatabase();
      const client = new Database(paths().database);
      client.exec('CREATE TABLE other (x)');
      client.close();
    },
    /registry\.db has no tables of a registry/,
  ],
  [
    'keys alone',
    async () => {
      await removeDatabase();
      await remove(...[paths().blobs, paths().artifacts, paths().profiles, paths().copies]);
    },
    /registry\.db is missing, .*: keys$/,
  ],
  [
    'folders of files alone, as with keys in another folder',
    async () => {
      await removeDatabase();
      await remove(paths().keys);
    },
    /registry\.db is missing, .*: blobs, artifacts/,
  ],
  [
    'a database of 0 bytes beside its log alone',
    async () => {
      const client = new Database(paths().database);
      client.exec('CREATE TABLE other (x)');
      await cp(`${paths().database}-wal`, path.join(parent, 'log'));
      client.close();
      await remove(folder);
      await mkdir(folder);
      await writeFile(paths().database, '');
      await rename(path.join(parent, 'log'), `${paths().database}-wal`);
    },
    /registry\.db is empty, .*registry\.db-wal/,
  ],
];

describe.each(LOSSES)('a data folder with %s', (_, lose, problem) => {
  beforeEach(() => lose());
  const refusal = () => ({
    code: 'unavailable',
    message: expect.stringMatching(problem),
    hint: expect.stringMatching(
      /restore the registry from a backup\. For a new registry, use an empty folder/,
    ),
  });
  const content = async () => (existsSync(paths().database) ? readFile(paths().database) : undefined);

  it('does not start as a new registry, and is not changed', async () => {
    const before = await content();
    await expect(start()).rejects.toMatchObject(refusal());
    expect(await content()).toEqual(before);
    await expect(start()).rejects.toMatchObject(refusal());
  });

  it('is a problem for fsck', async () => {
    const { healthy, findings } = await checkRegistry(folder, { startedAt: new Date() });
    expect(healthy).toBe(false);
    expect(findings).toMatchObject([{ severity: 'damage', message: expect.stringMatching(problem) }]);
  });

  it('is not migrated, backed up, moved, or a target of a move', async () => {
    const before = await content();
    const other = path.join(parent, 'other');
    const now = new Date();
    await expect(migrateDatabase(paths(), undefined)).rejects.toMatchObject(refusal());
    await expect(backupRegistry({ dataFolder: folder, out: other, now })).rejects.toMatchObject(refusal());
    await expect(
      moveRegistry({ from: { dataFolder: folder }, to: { dataFolder: other }, now: new Date() }),
    ).rejects.toMatchObject(refusal());
    expect(existsSync(other)).toBe(false);
    await expect(
      moveRegistry({ from: { dataFolder: whole }, to: { dataFolder: folder }, now: new Date() }),
    ).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('already contains a registry'),
    });
    expect(await content()).toEqual(before);
  });
});

it('takes no backup as a way into a folder with files of a registry', async () => {
  const backup = path.join(parent, 'backup');
  await backupRegistry({ dataFolder: folder, out: backup, now: new Date() });
  await removeDatabase();
  const restoring = { backup, takedowns: [], now: new Date() };
  await expect(restoreRegistry({ ...restoring, dataFolder: folder })).rejects.toMatchObject({
    code: 'usage',
    hint: expect.stringContaining('empty folder'),
  });
  await restoreRegistry({ ...restoring, dataFolder: path.join(parent, 'new') });
  expect((await checkRegistry(path.join(parent, 'new'), { startedAt: new Date() })).healthy).toBe(true);
});

describe('a data folder with a database without events', () => {
  beforeEach(async () => {
    await removeDatabase();
    // As an earlier version, or `krmhub migrate`, made it.
    await (await openSqliteStore(paths().database)).close();
  });

  it('does not start beside files, and is a problem for fsck', async () => {
    await expect(start()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/the database is empty, but .*: blobs, artifacts/),
    });
    const { healthy, findings } = await checkRegistry(folder, { startedAt: new Date() });
    expect(healthy).toBe(false);
    expect(findings[0]).toMatchObject({ check: 'database', message: expect.stringContaining('is empty') });
  });

  it('starts beside keys: a first start may have been killed after it made them', async () => {
    await remove(paths().blobs, paths().artifacts, paths().profiles, paths().copies);
    await start();
  });
});

describe('a data folder without a folder of files', () => {
  it('starts if no row names a file', async () => {
    await remove(paths().blobs, paths().artifacts, paths().profiles, paths().copies);
    await start();
  });

  it.each([
    ['blobs', 'DELETE FROM release_file'],
    ['artifacts', "UPDATE oci_blob SET place = 'artifacts'"],
  ] as const)(
    'does not start if a row names one in %s, until the operator makes the folder',
    async (part, sql) => {
      const client = new Database(paths().database);
      client.exec(sql);
      client.close();
      await remove(paths()[part]);
      const missing = path.join(paths()[part], 'sha256');
      await expect(start()).rejects.toMatchObject({
        code: 'unavailable',
        message: `the files of this registry are missing: ${missing} does not exist`,
        hint: expect.stringContaining(`mkdir -p ${missing}`),
      });
      // An empty mount point is no folder of files.
      await mkdir(paths()[part]);
      await expect(start()).rejects.toMatchObject({ code: 'unavailable' });
      await mkdir(missing);
      await start();
    },
  );

  it('does not start without its keys', async () => {
    await remove(paths().keys);
    await expect(start()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('its keys are missing'),
    });
  });
});

describe('a new registry', () => {
  it('starts in a folder with files that are not of a registry', async () => {
    await remove(folder);
    await mkdir(path.join(folder, 'lost+found'), { recursive: true });
    await writeFile(paths().adminToken, '');
    await start();
  });

  it('starts with a database of 0 bytes, which a killed first start leaves', async () => {
    await remove(folder);
    await mkdir(folder);
    await writeFile(paths().database, '');
    await start();
  });

  it('starts with keys that exist already in a folder of their own', async () => {
    const keys = path.join(parent, 'keys');
    await rotateRegistryKey({ dataFolder: folder, keysFolder: keys }, { now: new Date() });
    await remove(folder);
    await (await openTestRegistry({ folder, config: { keysFolder: keys } })).parts.close();
  });
});
