/** Syncs the sources of recipes in a database that another thread of this process serves. */

import { configuredRoot } from '../catalogs/sign/trusted-root.js';
import { blobsIn } from '../store/blobs/folder.js';
import { openThreadStore } from '../store/open-store.js';
import { parentLog } from '../workers/isolation/forward-log.js';
import { type Parent, serveRole } from '../workers/isolation/serve-role.js';
import { RwLock } from '../workers/locks/rw-lock.js';
import { Refresher } from './refresher.js';
import type { RefreshReports, RefreshThreadInput } from './refresher-thread.js';
import { sourceFetcher } from './source-fetcher.js';
import { UpstreamReader } from './upstream-reader.js';

await serveRole(open, { inBackground: true });

async function open(
  { database, copiesFolder, fetchingFolder, trustedRoot, settings }: RefreshThreadInput,
  { logLevel, report, countStatements, afterStop }: Parent<RefreshReports>,
): Promise<Refresher> {
  const store = await openThreadStore(database, countStatements);
  afterStop(() => store.close());
  const log = parentLog(logLevel);
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
    metrics: { refresh: (...measured) => report('refresh', measured) },
    onChange: () => report('changed'),
  });
  refresher.start();
  return refresher;
}
