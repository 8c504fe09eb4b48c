import { cp, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fillPath } from '@krmhub/api/paths';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { dataPaths } from '../../store/data-folder.js';
import { Database } from '../../store/sqlite/driver.js';
import { openTestRegistry } from '../../testing/test-registry.js';
import { catalogText } from '../../testing/upstream-server.js';
import { backupRegistry } from '../backup/backup.js';
import { restoreRegistry } from '../backup/restore.js';
import { checkRegistry } from './check.js';

let whole: string;
let sources: string;
let folder: string;

beforeAll(async () => {
  whole = await mkdtemp(path.join(tmpdir(), 'krmhub-whole-'));
  sources = await mkdtemp(path.join(tmpdir(), 'krmhub-files-'));
  await writeFile(path.join(sources, 'theirs.yaml'), catalogText({ One: 'first', Two: 'second' }));
  const registry = await openTestRegistry({ sources: { sourceFolder: sources } });
  const { secret } = await registry.token({});
  const call = async (method: string, target: string, body?: string) => {
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/yaml' };
    const response = await registry.request(target, { method, headers, ...(body && { body }) });
    expect(response.status, await response.text()).toBeLessThan(300);
  };
  await call(
    'PUT',
    fillPath('catalog', { name: 'ours' }),
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: theirs, catalog: {url: 'file:theirs.yaml'}}, {name: gone, catalog: {url: 'file:gone.yaml'}}]}
`,
  );
  await vi.waitFor(() => call('POST', fillPath('cut', { name: 'ours' })), { timeout: 60_000 });
  // A former entry is stored for a while.
  await writeFile(path.join(sources, 'theirs.yaml'), catalogText({ One: 'first' }));
  await call('POST', fillPath('refreshSource', { name: 'ours', source: 'theirs' }));
  await registry.waitForCatalogs();
  await registry.parts.refresher.stop();
  await registry.parts.snapshotBuilder.stop();
  await registry.parts.store.close();
  await cp(registry.folder, whole, { recursive: true });
  await rm(registry.folder, { recursive: true });
});
afterAll(async () => {
  for (const one of [whole, sources]) await rm(one, { recursive: true, force: true });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-check-'));
  await cp(whole, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const check = (at = folder) => checkRegistry(at, { startedAt: new Date() });

function sql(statement: string): void {
  const database = new Database(dataPaths(folder).database);
  database.pragma('foreign_keys = OFF');
  database.exec(statement);
  database.close();
}

/** Returns the files of copies. The older copy still exists, because it is not unused for long enough. */
async function copyFiles(at = folder): Promise<string[]> {
  const below = path.join(dataPaths(at).copies, 'sha256');
  const names = await readdir(below, { recursive: true });
  return names.filter((name) => name.length > 3).map((name) => path.join(below, name));
}

it('passes an intact registry with sources', async () => {
  expect(await copyFiles()).toHaveLength(2);
  expect(await check()).toMatchObject({ healthy: true, findings: [] });
});

describe('finds damage', () => {
  const each = async (change: (file: string) => Promise<void>) => {
    for (const file of await copyFiles()) await change(file);
  };
  it.each<[string, () => unknown, RegExp]>([
    [
      'a copy with other bytes',
      () => each((file) => writeFile(file, 'other')),
      /^sources: source theirs of ours: its copy does not match its digest/,
    ],
    [
      'a source without its row',
      () => sql(`DELETE FROM catalog_source WHERE source = 'gone'`),
      /^sources: catalog ours: its source gone file:gone\.yaml has no row$/,
    ],
    [
      'a row with another address',
      () => sql(`UPDATE catalog_source SET url = 'file:x' WHERE source = 'gone'`),
      /^sources: catalog ours: its source gone file:x is not in the recipe$/,
    ],
    [
      'an unreadable recipe',
      () => sql(`UPDATE catalog SET recipe = 'x' WHERE name = 'ours'`),
      /^sources: catalog ours: cannot read the stored recipe of catalog ours$/,
    ],
    [
      'missing entries',
      () => sql('DELETE FROM upstream_entry WHERE gone_at IS NULL'),
      /^sources: source theirs of ours: it has 0 entries, but its copy has 1$/,
    ],
    [
      'an entry without its rendered text',
      () => sql(`DELETE FROM entry WHERE json LIKE '%second%'`),
      /^source-entries: entry in theirs of ours: up\.example\.com\/Two: its rendered entry \S+ is missing$/,
    ],
    [
      'an entry of another function',
      () => sql(`UPDATE upstream_entry SET kind = 'Other', kind_folded = 'other' WHERE gone_at IS NULL`),
      /^source-entries: entry in .*up\.example\.com\/Other: its rendered entry is of another function$/,
    ],
    [
      'an entry with a wrong lookup key',
      () => sql(`UPDATE upstream_entry SET kind_folded = 'x' WHERE gone_at IS NULL`),
      /: its kind differs from its lookup key$/,
    ],
    [
      'an entry with a missing event',
      () => sql('UPDATE upstream_entry SET changed_event = 99'),
      /: the event that changed it is missing$/,
    ],
    [
      'an entry without its source',
      () => sql(`UPDATE upstream_entry SET source = 'x'`),
      /: its source is missing$/,
    ],
  ])('%s', async (_, spoil, found) => {
    await spoil();
    const { healthy: isWhole, findings } = await check();
    expect(isWhole).toBe(false);
    const lines = findings.map(({ check: name, subject, message }) => `${name}: ${subject}: ${message}`);
    expect(lines.filter((line) => found.test(line)).length, lines.join('\n')).toBeGreaterThan(0);
    for (const { hint } of findings) expect(hint).toBeTruthy();
  });
});

it('reports a copy that is not there: the next sync downloads it', async () => {
  for (const file of await copyFiles()) await rm(file);
  const { healthy: isWhole, findings } = await check();
  expect(isWhole).toBe(true);
  expect(findings.map(({ subject, message }) => `${subject}: ${message}`)).toEqual([
    expect.stringMatching(
      /^source theirs of ours: its copy \S+ is not in this data folder\. The registry downloads/,
    ),
  ]);
});

it('is backed up without a copy that is not there', async () => {
  const follower = path.join(folder, 'follower');
  await cp(whole, follower, { recursive: true });
  for (const file of await copyFiles(follower)) await rm(file);
  const out = path.join(folder, 'backup');
  await backupRegistry({ dataFolder: follower, out, now: new Date() });
  expect(await copyFiles(out)).toEqual([]);
});

it('reports unused copies once they are old', async () => {
  const old = new Date(Date.now() - 3_600_000);
  for (const file of await copyFiles()) await utimes(file, old, old);
  const { healthy: isWhole, findings } = await check();
  expect(isWhole).toBe(true);
  expect(findings.map(({ subject, message }) => `${subject}: ${message}`)).toEqual([
    expect.stringMatching(/^copies: 1 copies that no source uses, which the registry removes: \d+ bytes$/),
  ]);
});

it('backs up and restores the copies of sources', async () => {
  const out = path.join(folder, 'backup');
  await backupRegistry({ dataFolder: whole, out, now: new Date() });
  expect(await copyFiles(out)).toHaveLength(1);
  const restored = path.join(folder, 'restored');
  await restoreRegistry({ backup: out, dataFolder: restored, takedowns: [], now: new Date() });
  expect(await copyFiles(restored)).toHaveLength(1);
  expect(await check(restored)).toMatchObject({ healthy: true, findings: [] });
  // The next sync downloads a copy that is missing or damaged.
  for (const file of await copyFiles(out)) await writeFile(file, 'other');
  const again = path.join(folder, 'again');
  await restoreRegistry({ backup: out, dataFolder: again, takedowns: [], now: new Date() });
  expect(await copyFiles(again)).toEqual([]);
  expect((await check(again)).healthy).toBe(true);
});
