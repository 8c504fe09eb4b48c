/** Builds the catalogs of a database that another thread of this process serves. */

import { availableParallelism } from 'node:os';
import { SERVER_LIMITS } from '../../limits.js';
import { openThreadStore } from '../../store/open-store.js';
import { parentLog } from '../../workers/isolation/forward-log.js';
import { type Parent, serveRole } from '../../workers/isolation/serve-role.js';
import { DocumentHasher } from '../segments/document-hasher.js';
import { HasherThread } from '../segments/hasher-thread.js';
import { RegistryKeys } from '../sign/registry-keys.js';
import { SnapshotBuilder } from './snapshot-builder.js';
import type { SnapshotReports, SnapshotThreadInput } from './snapshot-builder-thread.js';

await serveRole(open, { inBackground: true });

async function open(
  { database, keyFolder, snapshotValidDays, paused }: SnapshotThreadInput,
  { logLevel, report, countStatements, afterStop }: Parent<SnapshotReports>,
): Promise<SnapshotBuilder> {
  const store = await openThreadStore(database, countStatements);
  afterStop(() => store.close());
  const clock = (): Date => new Date();
  const log = parentLog(logLevel);
  const keys = await RegistryKeys.open({ folder: keyFolder, clock, log });
  // Without a second processor, another thread would only add to the work.
  const thread = availableParallelism() > 1 ? new HasherThread({ log }) : undefined;
  afterStop(async () => thread?.close());
  const large = thread && { functions: SERVER_LIMITS.largeCatalogFunctions, thread };
  const builder = new SnapshotBuilder({
    store,
    hasher: new DocumentHasher(store, large),
    signing: { keys, clock, validDays: snapshotValidDays },
    clock,
    log,
    metrics: {
      build: (...measured) => report('build', measured),
      catalogFunctions: (...counted) => report('catalogFunctions', counted),
      retainCatalogs: (names) => report('retainedCatalogs', names),
    },
    onSnapshot: (snapshot) => report('snapshot', snapshot),
    onBuilt: (name, event) => report('built', { name, event }),
    onPassedOver: (event, behind) => report('passedOver', { event, behind }),
    onPass: (reached, status) => report('pass', { reached, status }),
  });
  if (paused) await builder.pause();
  builder.start();
  return builder;
}
