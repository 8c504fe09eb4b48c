import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { dataPaths } from '../../store/data-folder.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { inThread } from '../../workers/isolation/in-thread.js';
import type { Thread } from '../../workers/isolation/thread.js';
import type { SnapshotBuilder } from './snapshot-builder.js';
import type { SnapshotThreadInput } from './snapshot-builder-thread.js';

let registry: TestRegistry;
let thread: Thread<SnapshotBuilder> | undefined;
afterEach(async () => {
  await thread?.call('stop');
  await thread?.close();
  thread = undefined;
  await registry.close();
});

it('builds nothing until resume if it starts paused', async () => {
  registry = await openTestRegistry({ start: false });
  await registry.publish({ kind: 'First', release: '1.0.0' }, '');
  const { database, keys: keyFolder } = dataPaths(registry.folder);
  const input: SnapshotThreadInput = {
    database: { file: database },
    keyFolder,
    snapshotValidDays: 30,
    paused: true,
  };
  thread = inThread<SnapshotBuilder>('snapshot-thread', {
    input: () => input,
    log: pino({ level: 'silent' }),
  });
  const started = thread;
  await started.call('wake');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await registry.parts.store.snapshots('default', 1)).toEqual([]);
  await started.call('resume');
  const snapshots = async () => (await registry.parts.store.snapshots('default', 1)).length;
  await expect.poll(snapshots).toBe(1);
});

it('announces the newest snapshots of an earlier process', async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'First', release: '1.0.0' });
  registry = await registry.reopen();
  await registry.waitForCatalogs();
  expect(registry.parts.newestSnapshots.known('default')?.functions).toBe(1);
});
