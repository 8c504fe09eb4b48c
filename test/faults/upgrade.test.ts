import { cpSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { dataPaths } from '../../apps/registry/src/store/data-folder.js';
import { Database } from '../../apps/registry/src/store/sqlite/driver.js';
import { makeOlderFolder, wrongDocuments } from '../older-folder.js';
import { startRegistry, temporaryFolder } from '../running.js';
import { canMount, leaveFree, withDisk } from './disk.js';

const DISK_BYTES = 64 * 1024 * 1024;

const { folder, remove } = temporaryFolder();
afterAll(remove);
const mounts = canMount(folder);

/**
 * Returns the files of a registry and the version of its tables, without the files that SQLite keeps beside its file.
 */
function stateOf(data: string) {
  const client = new Database(dataPaths(data).database, { readonly: true });
  const migrations = client.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get();
  const documents = client.prepare('SELECT count(*) FROM form').pluck().get();
  client.close();
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' });
  return { migrations, documents, files: files.filter((file) => !/-(wal|shm)$/.test(file)).sort() };
}

it.skipIf(!mounts)(
  `a full disk at the start on a folder of the version before loses nothing${mounts ? '' : ': cannot mount a disk here'}`,
  async () => {
    const older = path.join(folder, 'older');
    const snapshots = await makeOlderFolder(older, 20);
    await withDisk(path.join(folder, 'disk'), DISK_BYTES, async (disk) => {
      const data = path.join(disk, 'data');
      cpSync(older, data, { recursive: true });
      const before = stateOf(data);
      const ballast = path.join(disk, 'ballast');
      const failures: string[] = [];
      for (const free of [0, 4_096, 36_864, 65_536, 131_072, 262_144]) {
        leaveFree(ballast, free);
        const outcome = await startRegistry(data).catch((error: Error) => error);
        rmSync(ballast);
        if (outcome instanceof Error) {
          failures.push(outcome.message);
          expect(outcome.message).toContain('ended with 5');
          expect([free, stateOf(data)]).toEqual([free, before]);
          continue;
        }
        // Enough for the tables. With free space again, it works as always.
        expect(await wrongDocuments(outcome.url, snapshots)).toEqual([]);
        await outcome.stop();
        break;
      }
      expect(failures.some((message) => message.includes('disk full'))).toBe(true);
      const registry = await startRegistry(data);
      expect(await wrongDocuments(registry.url, snapshots)).toEqual([]);
      await registry.stop();
    });
  },
);
