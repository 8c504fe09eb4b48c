import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { dataPaths } from '../../store/data-folder.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { preloadWorker, startWorker } from './start-worker.js';
import { Thread } from './thread.js';

let registry: TestRegistry | undefined;
const threads: Thread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) {
    await thread.call('stop');
    await thread.close();
  }
  await registry?.close();
  registry = undefined;
});

it('gives a preloaded thread its input, once', async () => {
  registry = await openTestRegistry({ start: false });
  await registry.publish({ kind: 'First', release: '1.0.0' }, '');
  const { database, keys: keyFolder } = dataPaths(registry.folder);
  const input = { database: { file: database }, keyFolder, snapshotValidDays: 30 };
  preloadWorker('snapshot-thread');
  preloadWorker('snapshot-thread');
  const ids: number[] = [];
  const start = (paused: boolean) => {
    const thread = new Thread({
      name: 'snapshot-thread',
      start: () => {
        const worker = startWorker('snapshot-thread', {
          workerData: { input: { ...input, paused }, logLevel: 'silent' },
        });
        ids.push(worker.threadId);
        return worker;
      },
      log: pino({ level: 'silent' }),
    });
    threads.push(thread);
    return thread;
  };
  const preloaded = start(true);
  const other = start(true);
  // They call it before it has read its input.
  await Promise.all([preloaded.call('wake'), other.call('wake')]);
  expect(new Set(ids).size).toBe(2);
  for (const thread of threads) await thread.call('resume');
  const snapshots = async () => (await registry!.parts.store.snapshots('default', 1)).length;
  await expect.poll(snapshots).toBe(1);
});

it('ends the process although a preloaded thread has no input', async () => {
  const built = new URL('../../../dist/workers/isolation/start-worker.js', import.meta.url);
  const script = `import { preloadWorker } from '${built}'; preloadWorker('snapshot-thread');`;
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stderr).toBe('');
});
