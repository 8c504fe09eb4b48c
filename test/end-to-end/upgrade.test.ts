import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { dataPaths } from '../../apps/registry/src/store/data-folder.js';
import { Database } from '../../apps/registry/src/store/sqlite/driver.js';
import { makeOlderFolder, newestCatalog, type OlderSnapshot, wrongDocuments } from '../older-folder.js';
import { spawn } from '../processes.js';
import { cleanEnvironment, command, krmhub, startRegistry, temporaryFolder } from '../running.js';

const SNAPSHOTS = 200;
/** The profile of the newest snapshot and its report, each in three codings. */
const PROFILE_FILES = 6;
const { folder, remove } = temporaryFolder();
afterAll(remove);
const older = path.join(folder, 'older');
let snapshots: OlderSnapshot[];
let before: number;
beforeAll(async () => {
  snapshots = await makeOlderFolder(older, SNAPSHOTS);
  before = storedFiles(older);
});

/** Counts the files of documents and profiles. */
function storedFiles(data: string): number {
  const { profiles } = dataPaths(data);
  return readdirSync(profiles, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length;
}

/** Counts rows; 0 without the table. */
function rows(data: string, table: string): number {
  try {
    const client = new Database(dataPaths(data).database, { readonly: true, timeout: 1_000 });
    try {
      return client.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!;
    } finally {
      client.close();
    }
  } catch {
    return 0;
  }
}

async function expectAllDocuments(data: string): Promise<void> {
  const registry = await startRegistry(data);
  try {
    expect(await wrongDocuments(registry.url, snapshots)).toEqual([]);
    const { digests } = snapshots.at(-1)!;
    await vi.waitFor(
      async () =>
        expect(await newestCatalog(registry.url)).toMatchObject({
          coding: 'gzip',
          digest: digests['catalog.json'],
        }),
      { timeout: 300_000, interval: 100 },
    );
    const profile = await fetch(`${registry.url}/catalogs/default/catalog.yaml?profile=porch`);
    expect([profile.status, (await profile.text()).toLowerCase().includes('older39')]).toEqual([200, true]);
  } finally {
    await registry.stop();
  }
}

describe('the start on a folder of the version before', () => {
  it('has a folder to start on', () => {
    expect(snapshots).toHaveLength(SNAPSHOTS);
    expect(before).toBeGreaterThan(20);
    expect([rows(older, 'snapshot'), rows(older, 'segment')]).toEqual([SNAPSHOTS, 0]);
  });

  it('keeps every snapshot, and deletes the stored documents', async () => {
    const data = path.join(folder, 'whole');
    cpSync(older, data, { recursive: true });
    for (const start of ['first', 'second']) {
      await expectAllDocuments(data);
      expect([start, storedFiles(data)]).toEqual([start, PROFILE_FILES]);
    }
    expect(rows(data, 'segment')).toBeGreaterThan(0);
    const checked = await krmhub(['fsck', '--data', data]);
    expect([checked.code, checked.stderr]).toEqual([0, expect.stringContaining('no problems')]);
  });

  it('continues after kills', async () => {
    const data = path.join(folder, 'killed');
    cpSync(older, data, { recursive: true });
    const documents = rows(data, 'form');
    const moments: [string, () => boolean][] = [
      ['at the start', () => true],
      ['after the migration', () => rows(data, 'form') < documents],
      ['as files are deleted', () => storedFiles(data) < before],
      ['as segments are stored', () => rows(data, 'segment') > 0],
      ['after all', () => rows(data, 'catalog_segment') > 0],
    ];
    for (const [moment, isReached] of moments) {
      const server = serve(data);
      while (!isReached() && server.exitCode === null) await sleep(1);
      server.kill('SIGKILL');
      if (server.signalCode === null && server.exitCode === null) await once(server, 'close');
      expect([moment, server.signalCode]).toEqual([moment, 'SIGKILL']);
    }
    await expectAllDocuments(data);
    expect(storedFiles(data)).toBe(PROFILE_FILES);
  });
});

function serve(data: string): ChildProcess {
  const options = { env: cleanEnvironment(folder), stdio: 'ignore' } as const;
  return spawn(process.execPath, [command, 'serve', '--port', '0', '--data', data], options);
}
