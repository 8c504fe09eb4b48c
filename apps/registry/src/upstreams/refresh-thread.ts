import { constants, platform, setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { pino } from 'pino';
import { configuredRoot } from '../catalogs/sign/trusted-root.js';
import { blobsIn } from '../store/blobs/folder.js';
import { openThreadStore } from '../store/open-store.js';
import { handleCalls, notify } from '../workers/isolation/handle-calls.js';
import { RwLock } from '../workers/locks/rw-lock.js';
import { Refresher } from './refresher.js';
import type { RefreshNotice, RefreshThreadInput } from './refresher-thread.js';
import { sourceFetcher } from './source-fetcher.js';
import { UpstreamReader } from './upstream-reader.js';

/** Syncs the sources of recipes in a database that another thread of this process serves. */
const { database, copiesFolder, fetchingFolder, trustedRoot, settings, logLevel } =
  workerData as RefreshThreadInput;

// Responses come before syncs. Only on Linux this is the priority of the thread, not of the process.
if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const notifyParent = (notice: RefreshNotice): void => notify(notice);
const store = await openThreadStore(database, (statements) => notifyParent({ statements }));
const log = pino({ level: logLevel, base: null }, { write: (line: string) => notifyParent({ log: line }) });
const refresher = new Refresher({
  store,
  copies: blobsIn(copiesFolder),
  copiesLock: new RwLock(),
  fetcher: sourceFetcher(settings, { temporaryFolder: fetchingFolder, log }),
  reader: new UpstreamReader({ log }),
  root: await configuredRoot(trustedRoot),
  clock: () => new Date(),
  random: () => Math.random(),
  log,
  metrics: { refresh: (...measured) => notifyParent({ refresh: measured }) },
  onChange: () => notifyParent({ changed: true }),
});
handleCalls({
  wake: async () => refresher.wake(),
  refreshNow: ({ catalog, source }: { catalog: string; source: string }) =>
    refresher.refreshNow(catalog, source),
  waitFor: ({ catalog, milliseconds }: { catalog: string; milliseconds: number }) =>
    refresher.waitFor(catalog, milliseconds),
  stop: async () => {
    await refresher.stop();
    await store.close();
  },
});
refresher.start();
