import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { sqlite } from '../built.js';
import { bytes, milliseconds } from '../figures.js';
import { folderBytes } from '../folders.js';
import { clientLoad } from '../load.js';
import { spread } from '../measure.js';
import { newFunctions, publishRequest, publishUntilVisible } from '../publishing.js';
import { type Bench, type Row, type Target, Unmeasured } from '../row.js';
import { newestSnapshot, type Server, startServer, waitForBuild } from '../server.js';
import type { SyntheticRelease } from '../synthetic/definitions.js';

/** Milliseconds until one new function is visible, for registries of up to so many functions. */
const TARGETS: readonly { functions: number; milliseconds: number }[] = [
  { functions: 1_000, milliseconds: 60 },
  { functions: 10_000, milliseconds: 100 },
  { functions: 100_000, milliseconds: 400 },
];
const TARGET_DISK_BYTES = 20_000;
/** Seconds for the first snapshot of the largest registry that has a target. */
const TARGET_FIRST_SECONDS = 10;
/** Publishes before the measured ones: the first build has no checkpoints of hashes. */
const WARMING = 4;
const MEASURED = 8;
const CONCURRENT_PUBLISHES = 20;
const DEADLINE_MILLISECONDS = 600_000;

export const visible: Row = {
  name: 'visible',
  title: 'publish until visible',
  async run(bench, functions) {
    const { tools, folders, effort } = bench;
    const filled = await folders.filled(functions);
    const { seconds, allowedSeconds } = filled.firstBuild;
    if (seconds === undefined) {
      throw new Unmeasured(
        `the first snapshot of ${functions} functions was not built within ${allowedSeconds} s`,
      );
    }
    // Nothing else works meanwhile, so the server may use all cores.
    const server = await startServer(tools, await folders.copy(filled), { core: 'any' });
    try {
      await waitForBuild(server, functions, 60);
      const next = newFunctions();
      for (let turn = 0; turn < (effort.quick ? 1 : WARMING); turn++)
        await publishUntilVisible(server, next(), { waits: true });
      const before = await diskBytes(server);
      const times: number[] = [];
      let published = 0;
      for (let turn = 0; turn < (effort.quick ? 2 : MEASURED); turn++) {
        bench.report(`visible: publish ${turn + 1}`);
        const release = next();
        published += Buffer.byteLength(release.text);
        times.push(await publishUntilVisible(server, release, { waits: true }));
      }
      const growth = ((await diskBytes(server)) - before) / times.length;
      const builds = await countBuilds(bench, server, next);
      const { median, low, high } = spread(times);
      const limit = TARGETS.find((target) => functions <= target.functions)?.milliseconds;
      const withTarget = (text: string, met: boolean): { target?: Target } =>
        limit === undefined || effort.quick ? {} : { target: { text: `≤ ${text}`, met } };
      return [
        {
          row: 'visible',
          what: 'one new function',
          functions,
          ours: `${milliseconds(median)} (${milliseconds(low)}–${milliseconds(high)})`,
          beside: `${CONCURRENT_PUBLISHES} at once: ${builds} snapshots`,
          ...withTarget(milliseconds(limit ?? 0), median <= (limit ?? 0)),
          figures: { medianMilliseconds: median, slowestMilliseconds: high, cutsForManyAtOnce: builds },
        },
        {
          row: 'visible',
          what: 'disk for each publish',
          functions,
          ours: `+${bytes(growth)}`,
          beside: `${bytes(published / times.length)} of it published`,
          ...withTarget(bytes(TARGET_DISK_BYTES), growth <= TARGET_DISK_BYTES),
          figures: { diskBytesPerCut: growth, publishedBytesPerCut: published / times.length },
        },
        {
          row: 'visible',
          what: 'first snapshot of all',
          functions,
          ours: milliseconds(seconds * 1_000),
          ...withTarget(milliseconds(TARGET_FIRST_SECONDS * 1_000), seconds <= TARGET_FIRST_SECONDS),
          figures: { firstCutSeconds: seconds },
        },
      ];
    } finally {
      await server.stop();
    }
  },
};

/** How many snapshots several concurrent publishes make. */
async function countBuilds(
  { tools, folders }: Bench,
  server: Server,
  next: () => SyntheticRelease,
): Promise<number> {
  const before = await newestSnapshot(server, 'default');
  const requests = Array.from({ length: CONCURRENT_PUBLISHES }, () => publishRequest(server, next()));
  await clientLoad(
    tools,
    { origin: server.url, requests, connections: CONCURRENT_PUBLISHES },
    await folders.scratch(),
  );
  const deadline = performance.now() + DEADLINE_MILLISECONDS;
  for (;;) {
    const now = await newestSnapshot(server, 'default');
    if (now!.functions >= before!.functions + CONCURRENT_PUBLISHES) return now!.serial - before!.serial;
    if (performance.now() > deadline) throw new Error('concurrent publishes never became visible');
    await setTimeout(50);
  }
}

/**
 * Bytes on the disk after a checkpoint of the SQLite log: the length of the log does not show what was
 * added.
 */
async function diskBytes({ folder }: Server): Promise<number> {
  const Database = await sqlite();
  const database = new Database(path.join(folder, 'registry.db'));
  try {
    database.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
  return folderBytes(folder);
}
