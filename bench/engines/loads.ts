import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fillPath } from '@krmhub/api/paths';
import { catalogPath, get, makeCatalogs } from '../catalog-resources.js';
import { milliseconds, percentiles, perSecond } from '../figures.js';
import type { FilledFolder } from '../folders.js';
import { CONNECTIONS, clientLoad, getLoad, pushLoad, type Throughput } from '../load.js';
import type { LoadRequest } from '../load-client.js';
import { alternate, latency, ratio, spread } from '../measure.js';
import { hasProcessFigures, readProcessorTime } from '../process-figures.js';
import { newFunctions, publishRequest } from '../publishing.js';
import { chooseQueries, searchPath } from '../queries.js';
import type { Bench, Line } from '../row.js';
import type { Server } from '../server.js';

/** Servers of one registry. The first one builds the snapshots. */
export interface Side {
  name: string;
  servers: readonly Server[];
  /** Of PostgreSQL, if it is used. */
  databasePid?: number;
}

/** Milliseconds of processor time for one request. */
interface Costly extends Throughput {
  krmhub: number;
  database: number;
}

const PUBLISHES = 100;
/** Rounds of publishes before the first one that counts: a new server takes about twice as long. */
const PUBLISH_WARM_UPS = 4;
const VISIBLE = 8;
const REPOSITORY = 'bench/engines';
const MEGABYTE = 1_000_000;
const POLL_MILLISECONDS = 10;
const DEADLINE_MILLISECONDS = 600_000;

/** What a registry needs before `measureLoads`. Returns the path of a blob of one megabyte. */
export async function prepareLoads({ tools }: Bench, server: Server, filled: FilledFolder, scratch: string) {
  await makeCatalogs(server, filled, ['medium']);
  const authorization = `Basic ${Buffer.from(`bench:${server.token}`).toString('base64')}`;
  const blob = { repository: REPOSITORY, bytes: MEGABYTE, count: 1, connections: 1 };
  const { digests } = await pushLoad(tools, { origin: server.url, authorization, ...blob }, scratch);
  return `/v2/${REPOSITORY}/blobs/${digests[0]!}`;
}

/** Sends the same loads to both registries in turn. */
export async function measureLoads(
  bench: Bench,
  { corpus }: FilledFolder,
  sides: { shared: Side & { blob: string }; embedded: Side & { blob: string } },
  scratch: string,
): Promise<Omit<Line, 'functions'>[]> {
  const { effort, report } = bench;
  const { name } = sides.shared;
  const next = newFunctions();
  const searches = Object.values(chooseQueries(corpus)).flatMap((queries) => queries.slice(0, 20));
  const entries = corpus.names.map(({ group, kind }) =>
    fillPath('catalogEntry', { name: 'default', group, kind }),
  );
  const loads: Record<string, (side: Side & { blob: string }) => Promise<Throughput>> = {
    [`publishes, ${CONNECTIONS} at a time`]: (side) =>
      requestsOn(bench, side, scratch, (server, share) => ({
        requests: Array.from({ length: Math.round((effort.quick ? 16 : PUBLISHES) * share) }, () =>
          publishRequest(server, next()),
        ),
      })),
    'GETs of a catalog of 64 KB': (side) => getsOn(bench, side, scratch, [catalogPath('medium')]),
    'GETs of entries': (side) => getsOn(bench, side, scratch, entries),
    [`searches, ${CONNECTIONS} at a time`]: (side) =>
      requestsOn(bench, side, scratch, () => ({
        requests: searches.map((query) => ({ method: 'GET', path: searchPath(query) })),
        milliseconds: effort.milliseconds,
      })),
    'pulls of a blob of 1 MB': (side) => getsOn(bench, side, scratch, [side.blob]),
  };
  const lines: Omit<Line, 'functions'>[] = [];
  report(`engines: publish until visible, ${name}`);
  lines.push(await measureVisible(bench, sides, next));
  for (const [what, load] of Object.entries(loads)) {
    report(`engines: ${what}, ${name}`);
    const costly = async (side: Side & { blob: string }): Promise<Costly> => {
      const before = processorTimes(side);
      const throughput = await load(side);
      const after = processorTimes(side);
      const spent = (of: keyof typeof before) => (after[of] - before[of]) / throughput.requests / 1_000;
      return { ...throughput, krmhub: spent('krmhub'), database: spent('database') };
    };
    const both = { shared: () => costly(sides.shared), embedded: () => costly(sides.embedded) };
    if (!effort.quick) await alternate(what.startsWith('publishes') ? PUBLISH_WARM_UPS : 1, both);
    const { shared, embedded } = await alternate(effort.rounds, both);
    const rates = (rounds: readonly Throughput[]) => rounds.map((round) => round.perSecond);
    const [ours, theirs] = [spread(rates(shared)).median, spread(rates(embedded)).median];
    const median = (of: 'p99' | 'krmhub' | 'database') => spread(shared.map((round) => round[of])).median;
    const [p99, krmhub, database] = [median('p99'), median('krmhub'), median('database')];
    lines.push({
      row: 'engines',
      what: `${what}, ${name}`,
      ours: `${perSecond(ours)}, p99 ${milliseconds(p99)}`,
      against: `embedded ${perSecond(theirs)}`,
      ratio: ratio(rates(shared), rates(embedded)),
      beside: `CPU per request: krmhub ${milliseconds(krmhub)}, PostgreSQL ${milliseconds(database)}`,
      figures: {
        oursPerSecond: ours,
        embeddedPerSecond: theirs,
        oursP99Milliseconds: p99,
        ...(hasProcessFigures ? { krmhubCpuMilliseconds: krmhub, databaseCpuMilliseconds: database } : {}),
      },
    });
  }
  return lines;
}

/** Microseconds of processor time so far. */
function processorTimes({ servers, databasePid }: Side): Record<'krmhub' | 'database', number> {
  const krmhub = servers.reduce((total, { pid }) => total + readProcessorTime(pid), 0);
  return { krmhub, database: databasePid === undefined ? 0 : readProcessorTime(databasePid) };
}

/** Publishes on the second server, if there is one, and reads on the last one. */
async function measureVisible(
  { effort }: Bench,
  sides: Record<'shared' | 'embedded', Side>,
  next: ReturnType<typeof newFunctions>,
): Promise<Omit<Line, 'functions'>> {
  const visible = async ({ servers }: Side): Promise<number> => {
    const release = next();
    const { method, path: target, headers, body } = publishRequest(servers[1] ?? servers[0]!, release);
    const { group, kind } = release;
    const entry = servers.at(-1)!.url + fillPath('catalogEntry', { name: 'default', group, kind });
    const started = performance.now();
    const response = await fetch((servers[1] ?? servers[0]!).url + target, { method, headers, body });
    if (response.status !== 201) throw new Error(`${target}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    while ((await get(entry)).status !== 200) {
      if (performance.now() - started > DEADLINE_MILLISECONDS)
        throw new Error(`${group}/${kind} never became visible`);
      await setTimeout(POLL_MILLISECONDS);
    }
    return performance.now() - started;
  };
  const both = { shared: () => visible(sides.shared), embedded: () => visible(sides.embedded) };
  if (!effort.quick) await alternate(2, both);
  const { shared, embedded } = await alternate(effort.quick ? 1 : VISIBLE, both);
  const [ours, theirs] = [latency(shared).p50, latency(embedded).p50];
  return {
    row: 'engines',
    what: `publish until visible, ${sides.shared.name}`,
    ours: percentiles(latency(shared)),
    against: `embedded ${milliseconds(theirs)}`,
    ratio: ratio(shared, embedded),
    figures: { oursMilliseconds: ours, embeddedMilliseconds: theirs },
  };
}

/** Sends GETs to all servers of a registry at once, over as many connections in total as to one. */
async function getsOn(
  { tools, effort }: Bench,
  { servers }: Side,
  scratch: string,
  paths: readonly string[],
): Promise<Throughput> {
  const results = await Promise.all(
    servers.map(async ({ url }, at) => {
      const folder = path.join(scratch, `load-${at}`);
      await mkdir(folder, { recursive: true });
      const connections = connectionsOf(servers, at);
      const headers = { 'Accept-Encoding': 'identity' };
      const load = { origin: url, paths, headers, milliseconds: effort.milliseconds, connections };
      return getLoad(tools, { ...load, scratch: folder, core: 'any' });
    }),
  );
  return {
    requests: results.reduce((total, { requests }) => total + requests, 0),
    perSecond: results.reduce((total, one) => total + one.perSecond, 0),
    p99: Math.max(...results.map(({ p99 }) => p99)),
  };
}

async function requestsOn(
  { tools }: Bench,
  { servers }: Side,
  scratch: string,
  plan: (server: Server, share: number) => { requests: LoadRequest[]; milliseconds?: number },
): Promise<Throughput> {
  const results = await Promise.all(
    servers.map((server, at) => {
      const connections = connectionsOf(servers, at);
      const load = { origin: server.url, connections, ...plan(server, connections / CONNECTIONS) };
      return clientLoad(tools, load, scratch, 'any');
    }),
  );
  const times = results.flatMap((result) => result.milliseconds);
  return {
    requests: times.length,
    perSecond: times.length / Math.max(...results.map(({ seconds }) => seconds)),
    p99: latency(times).p99,
  };
}

/** The connections to one of several servers. */
function connectionsOf({ length }: readonly Server[], at: number): number {
  return Math.floor(CONNECTIONS / length) + (at < CONNECTIONS % length ? 1 : 0);
}
