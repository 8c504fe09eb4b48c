import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256, type Takedown } from '@krmhub/schema';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTakedownRecord } from './record.js';
import { restoreTakedowns } from './restore.js';

let dataFolder: string;
beforeEach(async () => {
  dataFolder = await mkdtemp(path.join(tmpdir(), 'krmhub-restore-'));
});
afterEach(() => rm(dataFolder, { recursive: true, force: true }));

const takedown = (release: string, at: string): Takedown => ({
  group: 'example.com',
  kind: 'Bad',
  release,
  digest: sha256(release),
  at,
  by: 'root',
  reason: 'malware',
});
const backupTime = '2030-02-01T00:00:00.000Z';
const before = takedown('1.0.0', '2030-01-01T00:00:00.000Z');
const after = takedown('2.0.0', '2030-03-01T00:00:00.000Z');

it('stores known takedowns next to the restored database, and names those after the backup', async () => {
  const record = openTakedownRecord(path.join(dataFolder, 'takedowns.jsonl'));
  await record.add([before]);
  const { takedowns, notice } = await restoreTakedowns({ dataFolder, others: [before, after], backupTime });
  expect(takedowns).toEqual([before, after]);
  expect(await record.read()).toEqual([before, after]);
  expect(notice).toContain(`This backup is from ${backupTime}`);
  expect(notice).toContain('takes down 1 of them again');
  expect(notice).toContain('example.com/Bad@2.0.0');
  expect(notice).not.toContain('1.0.0');
});

it('warns that no takedown after the backup is known', async () => {
  const { notice } = await restoreTakedowns({ dataFolder, others: [], backupTime });
  expect(notice).toContain('has no record of later takedowns');
  expect(notice).toContain('do not start the registry');
  const given = await restoreTakedowns({ dataFolder, others: [before], backupTime });
  expect(given.takedowns).toEqual([before]);
  expect(given.notice).toContain('has no later takedowns');
});

it('counts the takedowns that it does not name', async () => {
  const many = Array.from({ length: 25 }, (_, at) => takedown(`3.${at}.0`, after.at));
  expect((await restoreTakedowns({ dataFolder, others: many, backupTime })).notice).toContain('and 5 more');
});
