import { availableParallelism, constants, platform, setPriority } from 'node:os';
import { pino } from 'pino';
import { SERVER_LIMITS } from '../../limits.js';
import { openThreadStore } from '../../store/open-store.js';
import { handleCalls, notify } from '../../workers/isolation/handle-calls.js';
import { threadInput } from '../../workers/isolation/thread-input.js';
import { DocumentHasher } from '../segments/document-hasher.js';
import { HasherThread } from '../segments/hasher-thread.js';
import { RegistryKeys } from '../sign/registry-keys.js';
import { SnapshotBuilder } from './snapshot-builder.js';
import type { SnapshotThreadInput, SnapshotThreadNotice } from './snapshot-builder-thread.js';

/** Builds the catalogs of a database that another thread of this process serves. */
const { database, keyFolder, snapshotValidDays, logLevel, paused } = await threadInput<SnapshotThreadInput>();

// Responses come before catalogs. Only on Linux this is the priority of the thread, not of the process.
if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const notifyParent = (notice: SnapshotThreadNotice): void => notify(notice);
const store = await openThreadStore(database, (statements) => notifyParent({ statements }));
const clock = (): Date => new Date();
const log = pino({ level: logLevel, base: null }, { write: (line: string) => notifyParent({ log: line }) });
const keys = await RegistryKeys.open({ folder: keyFolder, clock, log });
// Without a second processor, another thread would only add to the work.
const thread = availableParallelism() > 1 ? new HasherThread({ log }) : undefined;
const large = thread && { functions: SERVER_LIMITS.largeCatalogFunctions, thread };
const builder = new SnapshotBuilder({
  store,
  hasher: new DocumentHasher(store, large),
  signing: { keys, clock, validDays: snapshotValidDays },
  clock,
  log,
  metrics: {
    build: (...measured) => notifyParent({ build: measured }),
    catalogFunctions: (...measured) => notifyParent({ catalogFunctions: measured }),
    retainCatalogs: (retainedCatalogs) => notifyParent({ retainedCatalogs }),
  },
  onSnapshot: (snapshot) => notifyParent({ snapshot }),
  onBuilt: (built, event) => notifyParent({ built, event }),
  onPass: (reached, status) => notifyParent({ reached, status }),
});
handleCalls({
  wake: async () => builder.wake(),
  hurry: async () => builder.hurry(),
  buildNow: (name: string) => builder.buildNow(name),
  pause: () => builder.pause(),
  resume: async () => builder.resume(),
  stop: async () => {
    await builder.stop();
    await thread?.close();
    await store.close();
  },
});
if (paused) await builder.pause();
builder.start();
