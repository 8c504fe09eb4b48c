import { setTimeout } from 'node:timers/promises';
import { catalogPath, get } from '../catalog-resources.js';
import { bytes } from '../figures.js';
import type { FilledFolder } from '../folders.js';
import { hasProcessFigures, readMemory } from '../process-figures.js';
import { newFunctions, publishRequest } from '../publishing.js';
import { chooseQueries, searchPath } from '../queries.js';
import { type Bench, type Row, Unmeasured } from '../row.js';
import { startServer, waitForBuild } from '../server.js';

/** Bytes more than an empty registry. */
const TARGET_MORE_BYTES = 150_000_000;
/** Bytes of a registry with many functions, and from how many on. */
const TARGET_LARGE = { functions: 100_000, bytes: 300_000_000 };

interface Memory {
  /** Bytes in physical memory after everything below, and some idle seconds. */
  settled: number;
  /** The peak. */
  peak: number;
  /** Bytes right after the start, before the first request. */
  started: number;
}

export const memory: Row = {
  name: 'memory',
  title: 'memory of the server',
  async run(bench, functions) {
    if (!hasProcessFigures) throw new Unmeasured('this system has no /proc');
    bench.report('memory: an empty registry');
    const empty = await measure(bench, await bench.folders.scratch(), undefined, 0);
    const filled = await bench.folders.filled(functions);
    bench.report(`memory: ${functions} functions`);
    const full = await measure(bench, await bench.folders.copy(filled), filled, functions);
    const more = full.settled - empty.settled;
    const target =
      functions < TARGET_LARGE.functions
        ? { text: `≤ +${bytes(TARGET_MORE_BYTES)}`, met: more <= TARGET_MORE_BYTES }
        : { text: `≤ ${bytes(TARGET_LARGE.bytes)}`, met: full.settled <= TARGET_LARGE.bytes };
    return [
      {
        row: 'memory',
        what: 'after reads, searches and publishes',
        functions,
        ours: `${bytes(full.settled)}, peak ${bytes(full.peak)}`,
        against: `empty ${bytes(empty.settled)}, peak ${bytes(empty.peak)}`,
        beside: `+${bytes(more)}; after the start ${bytes(full.started)}, empty ${bytes(empty.started)}`,
        ...(bench.effort.quick ? {} : { target }),
        figures: {
          settledBytes: full.settled,
          peakBytes: full.peak,
          startedBytes: full.started,
          emptySettledBytes: empty.settled,
          emptyPeakBytes: empty.peak,
          moreBytes: more,
        },
      },
    ];
  },
};

/** Starts a server, sends it typical work, and reads its memory. */
async function measure(
  { tools, effort }: Bench,
  folder: string,
  filled: FilledFolder | undefined,
  functions: number,
): Promise<Memory> {
  const server = await startServer(tools, folder);
  try {
    const isBuilt = filled === undefined || filled.firstBuild.seconds !== undefined;
    if (isBuilt) await waitForBuild(server, functions, 60);
    await setTimeout(effort.quick ? 100 : 2_000);
    const started = readMemory(server.pid).now;
    if (isBuilt) {
      for (const coding of ['identity', 'gzip']) {
        await get(server.url + catalogPath('default'), { 'Accept-Encoding': coding });
      }
    }
    for (const list of filled === undefined ? [] : Object.values(chooseQueries(filled.corpus))) {
      for (const query of list.slice(0, effort.quick ? 2 : 20)) await get(server.url + searchPath(query));
    }
    const next = newFunctions();
    for (let turn = 0; turn < (effort.quick ? 1 : 5); turn++) {
      const { method, path, headers, body } = publishRequest(server, next(), '?wait=true');
      const answer = await fetch(server.url + path, { method, headers, body });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    }
    await setTimeout(effort.quick ? 100 : 5_000);
    const { now, peak } = readMemory(server.pid);
    return { settled: now, peak, started };
  } finally {
    await server.stop();
  }
}
