import { constants, platform, setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { pino } from 'pino';
import { SnapshotForms } from '../catalogs/renditions/snapshot-renditions.js';
import { Cutter } from '../catalogs/snapshot-builder.js';
import { RegistryKeys } from '../signatures/registry-keys.js';
import { blobsIn } from '../store/blobs/folder.js';
import { openSecondSqliteStore } from '../store/sqlite/store.js';
import { answerCalls, notify } from './answer-calls.js';
import type { CutNotice, CutThreadInput } from './snapshot-builder-thread.js';

/** Cuts the catalogs of a database that another thread of this process serves. */
const { database, formsFolder, keyFolder, snapshotValidDays, logLevel, paused } =
  workerData as CutThreadInput;

// Answers come before catalogs. On Linux alone is this the priority of a thread and not of the process.
if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const tell = (notice: CutNotice): void => notify(notice);
const store = openSecondSqliteStore(database);
const clock = (): Date => new Date();
const log = pino({ level: logLevel, base: null }, { write: (line: string) => tell({ log: line }) });
const keys = await RegistryKeys.open({ folder: keyFolder, clock, log });
const cutter = new Cutter({
  store,
  forms: new SnapshotForms({ store, blobs: blobsIn(formsFolder) }),
  signing: { keys, clock, validDays: snapshotValidDays },
  clock,
  log,
  metrics: {
    cut: (...measured) => tell({ cut: measured }),
    catalogFunctions: (...measured) => tell({ catalogFunctions: measured }),
  },
  onSnapshot: (snapshot) => tell({ snapshot }),
  onPass: (reached, status) => tell({ reached, status }),
});
answerCalls({
  wake: async () => cutter.wake(),
  cutNow: (name: string) => cutter.cutNow(name),
  pause: () => cutter.pause(),
  resume: async () => cutter.resume(),
  stop: async () => {
    await cutter.stop();
    await store.close();
  },
});
if (paused) await cutter.pause();
cutter.start();
