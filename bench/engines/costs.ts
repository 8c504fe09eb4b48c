import { setTimeout } from 'node:timers/promises';
import { fillPath } from '@krmhub/api/paths';
import { catalogPath, get } from '../catalog-resources.js';
import type { FilledFolder } from '../folders.js';
import { newFunctions, publishRequest } from '../publishing.js';
import { chooseQueries, searchPath } from '../queries.js';
import type { Bench } from '../row.js';
import type { Server } from '../server.js';
import type { SyntheticRelease } from '../synthetic/definitions.js';
import type { Counts, Numbers, SharedRegistry, Stored } from './shared-registry.js';

/** What one operation, or one minute, costs in one process. */
export interface Cost {
  /** SQL statements, with BEGIN and COMMIT. */
  statements: number;
  /** The statements by the work that needs them; empty if the process does not count them. */
  work: Numbers;
  /** Requests to S3 of the more expensive class: PUT, POST, LIST. */
  puts: number;
  /** GET and HEAD. DELETE is free. */
  gets: number;
}

export type ReadKind = keyof typeof READS;

/** What is read, in words that follow "one". */
export const READS = {
  unchanged: 'GET of a catalog that is in memory',
  changed: 'first GET of a new catalog on a process',
  entry: 'GET of an entry',
  search: 'search',
  first: 'first GET of a definition on a process',
  again: 'later GET of a definition',
  probe: 'readiness probe of Kubernetes',
} as const;

export interface Costs {
  /** A publish and its snapshot, where one process does everything. */
  alone: Cost;
  /** The same of three processes: one accepts the publish, another builds the snapshot, the third only follows. */
  accepting: Cost;
  building: Cost;
  following: Cost;
  /** A minute of a process without requests; of one that leads, and another one. */
  idleLeader: Cost;
  idle: Cost;
  reads: Record<ReadKind, Cost>;
  /** Of one publish and its snapshot. */
  growth: Stored;
}

/** Publishes, each with its snapshot, of which the mean is taken. */
const PUBLISHES = 40;
const READS_EACH = 100;
/** Fewer: each is the whole catalog. */
const CATALOG_READS = 10;
/** Probes and the milliseconds between two: a result of the checks is used again for a second. */
const PROBES = 5;
const PROBE_MILLISECONDS = 1_100;
/** The request of deploy/postgres-s3. */
const PROBE_PATH = '/readyz?exclude=store&exclude=blobs&exclude=catalogs';
const IDLE_MILLISECONDS = 60_000;
/** Of these minutes the quietest counts: collecting garbage, once an hour, and a copy of the search index can each be of one. */
const IDLE_MINUTES = 3;
/** Milliseconds without a statement after which the work of publishes and reads has ended, and the longest wait. */
const QUIET_MILLISECONDS = 4_000;
const MAX_QUIET_MILLISECONDS = 60_000;
/** Between two publishes: longer than the time after which processes look for changes by themselves. */
const PAUSE_MILLISECONDS = 300;

const PUT_OPERATIONS: readonly string[] = [
  'put',
  'list',
  'multipart-create',
  'multipart-part',
  'multipart-complete',
  'multipart-list',
];
const GET_OPERATIONS: readonly string[] = ['get', 'head'];

/**
 * Counts statements and requests of single operations. What a process does without requests, such as looking for
 * changes, is measured first, when earlier work has ended, and subtracted.
 */
export async function measureCosts(
  { effort, report }: Bench,
  registry: SharedRegistry,
  { corpus }: FilledFolder,
): Promise<Costs> {
  const count = effort.quick ? 2 : PUBLISHES;
  const next = newFunctions();
  const releases = () => Array.from({ length: count }, next);
  const idle = async () => {
    const milliseconds = effort.quick ? 500 : IDLE_MILLISECONDS;
    if (!effort.quick) await waitUntilQuiet(registry);
    let quietest: Cost[] | undefined;
    for (let minute = 0; minute < (effort.quick ? 1 : IDLE_MINUTES); minute++) {
      const counts = await registry.countDuring(() => setTimeout(milliseconds));
      const costs = counts.map((one) => times(costOf(one), 60 / one.seconds));
      quietest = costs.map((one, at) => {
        const before = quietest?.[at];
        return before !== undefined && before.statements <= one.statements ? before : one;
      });
    }
    return quietest!;
  };
  const cost = async (operations: number, idles: readonly Cost[], work: () => Promise<void>) => {
    const counts = await registry.countDuring(work);
    return counts.map((one, at) => {
      const all = costOf(one);
      const idle = idles[at];
      return times(idle === undefined ? all : without(all, idle, one.seconds / 60), 1 / operations);
    });
  };

  report('engines: cost of a publish, one process');
  const [only] = await registry.run(1);
  // The first snapshot after a start reads more.
  await publishEach(registry, only!, [next()]);
  const [alone] = await cost(count, [], () => publishEach(registry, only!, releases()));

  const [, accepting, following] = await registry.run(3);
  await publishEach(registry, accepting!, [next()]);
  report('engines: a minute without requests');
  const idles = await idle();
  report('engines: cost of a publish, three processes');
  const published = releases();
  const before = await registry.stored();
  const publish = await cost(count, idles, () => publishEach(registry, accepting!, published));
  const after = await registry.stored();

  report('engines: cost of reads');
  /** Reads of the process that neither accepts publishes nor builds. */
  const readAll = async (paths: readonly string[]) => {
    const costs = await cost(paths.length, idles, async () => {
      for (const path of paths) await read(following!, path);
    });
    return costs[2]!;
  };
  const catalog = catalogPath('default');
  const changed: Cost[] = [];
  for (const release of releases().slice(0, effort.quick ? 1 : 5)) {
    await publishEach(registry, accepting!, [release]);
    changed.push(await readAll([catalog]));
  }
  const entries = corpus.names
    .slice(0, effort.quick ? 5 : READS_EACH)
    .map(({ group, kind }) => fillPath('catalogEntry', { name: 'default', group, kind }));
  const definitions = published.map(({ group, kind, release }) =>
    fillPath('definition', { group, kind, release }),
  );
  const searches = Object.values(chooseQueries(corpus))
    .flatMap((queries) => queries.slice(0, effort.quick ? 1 : 15))
    .map(searchPath);
  const reads = {
    changed: mean(changed),
    unchanged: await readAll(Array.from({ length: CATALOG_READS }, () => catalog)),
    entry: await readAll(entries),
    search: await readAll(searches),
    first: await readAll(definitions),
    again: await readAll(definitions),
  };
  const probes = effort.quick ? 1 : PROBES;
  const probe = await cost(probes, idles, async () => {
    for (let turn = 0; turn < probes; turn++) {
      await read(following!, PROBE_PATH);
      await setTimeout(PROBE_MILLISECONDS);
    }
  });
  return {
    alone: alone!,
    building: publish[0]!,
    accepting: publish[1]!,
    following: publish[2]!,
    idleLeader: idles[0]!,
    idle: mean(idles.slice(1)),
    reads: { ...reads, probe: probe[2]! },
    growth: {
      databaseBytes: (after.databaseBytes - before.databaseBytes) / count,
      rows: (after.rows - before.rows) / count,
      objectBytes: (after.objectBytes - before.objectBytes) / count,
    },
  };
}

/** Waits until no process sends statements for what came before. */
async function waitUntilQuiet(registry: SharedRegistry): Promise<void> {
  const started = performance.now();
  for (;;) {
    const counts = await registry.countDuring(() => setTimeout(QUIET_MILLISECONDS));
    // Looking for changes, and the check that a process is there, go on.
    const isQuiet = counts.every(({ work }) =>
      ['requests', 'search', 'builds'].every((name) => (work[name] ?? 0) <= 0),
    );
    if (isQuiet || performance.now() - started > MAX_QUIET_MILLISECONDS) return;
  }
}

/** Publishes one after the other; each gets a snapshot of its own. */
async function publishEach(
  registry: SharedRegistry,
  server: Server,
  releases: readonly SyntheticRelease[],
): Promise<void> {
  let snapshot = await registry.newestSnapshot();
  for (const release of releases) {
    const { method, path, headers, body } = publishRequest(server, release);
    const response = await fetch(server.url + path, { method, headers, body });
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    snapshot = await registry.snapshotAfter(snapshot);
    await setTimeout(PAUSE_MILLISECONDS);
  }
}

async function read({ url }: Server, path: string): Promise<void> {
  const { status } = await get(url + path, { 'Accept-Encoding': 'gzip' });
  if (status !== 200) throw new Error(`${path}: ${status}`);
}

function costOf({ statements, work, requests }: Counts): Cost {
  const of = (operations: readonly string[]) =>
    operations.reduce((total, operation) => total + (requests[operation] ?? 0), 0);
  return { statements, work, puts: of(PUT_OPERATIONS), gets: of(GET_OPERATIONS) };
}

/** Computes each number of a cost from those of the same name. */
function combined(costs: readonly Cost[], combine: (numbers: readonly number[]) => number): Cost {
  const names = new Set(costs.flatMap(({ work }) => Object.keys(work)));
  return {
    statements: combine(costs.map(({ statements }) => statements)),
    work: Object.fromEntries(
      [...names].map((name) => [name, combine(costs.map(({ work }) => work[name] ?? 0))]),
    ),
    puts: combine(costs.map(({ puts }) => puts)),
    gets: combine(costs.map(({ gets }) => gets)),
  };
}

export function times(cost: Cost, factor: number): Cost {
  return combined([cost], ([value]) => value! * factor);
}

/** What is left of a cost; a process that is busy looks for changes less often, so it may be less than nothing. */
function without(cost: Cost, idle: Cost, minutes: number): Cost {
  return combined([cost, idle], ([all, minute]) => Math.max(0, all! - minute! * minutes));
}

export function sum(costs: readonly Cost[]): Cost {
  return combined(costs, (values) => values.reduce((total, value) => total + value, 0));
}

function mean(costs: readonly Cost[]): Cost {
  return times(sum(costs), 1 / costs.length);
}
