import { CATALOGS, type CatalogSize, catalogPath, get, makeCatalogs } from '../catalog-resources.js';
import { bytes, milliseconds, number, perSecond } from '../figures.js';
import { getLoad, type Throughput } from '../load.js';
import { alternate, ratio, spread } from '../measure.js';
import type { HttpResource } from '../peer-http.js';
import { type Peer, startNginx, startNodePeer } from '../peers.js';
import { readProcessorTime } from '../process-figures.js';
import { atLeast, type Bench, type Line, type Row } from '../row.js';
import { type Server, startServer, waitUntilIdle } from '../server.js';

interface Case {
  what: string;
  path: string;
  coding: 'identity' | 'gzip';
  conditional: boolean;
  /** Whether there is a target; the others are informational. */
  counts: boolean;
}

export const http: Row = {
  name: 'http',
  title: 'GET catalog.yaml, one process',
  async run(bench, functions) {
    const { tools, folders, effort } = bench;
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    const peers: Record<string, Peer> = {};
    try {
      const scratch = await folders.scratch();
      const resources = await makeCatalogs(server, filled, catalogSizes(bench));
      peers.node = await startNodePeer(tools, scratch, resources);
      if (tools.nginx) peers.nginx = await startNginx(tools, scratch, resources);
      if (!effort.quick) await waitUntilIdle(server);
      const lines: Line[] = [];
      for (const one of listCases(resources)) {
        bench.report(`http: ${one.what}`);
        const measured = await measureCase(bench, one, { server, peers, resources, scratch });
        lines.push(toLine(one, functions, measured, effort.quick));
      }
      return lines;
    } finally {
      for (const peer of Object.values(peers)) await peer.stop();
      await server.stop();
    }
  },
};

function catalogSizes({ effort }: Bench): CatalogSize[] {
  return effort.quick ? ['small'] : (Object.keys(CATALOGS) as CatalogSize[]);
}

/** Every catalog as it is, once not modified, and compressed for information. */
function listCases(resources: readonly HttpResource[]): Case[] {
  const sized = resources.map(({ path, identity }) => ({
    path,
    size: bytes(Buffer.byteLength(identity, 'base64')),
  }));
  const plain = sized.map(
    ({ path, size }) => ({ what: size, path, coding: 'identity', conditional: false, counts: true }) as const,
  );
  const zipped = sized.map(
    ({ path, size }) =>
      ({ what: `${size}, gzip`, path, coding: 'gzip', conditional: false, counts: false }) as const,
  );
  const notModified = {
    what: '304',
    path: catalogPath('small'),
    coding: 'identity',
    conditional: true,
    counts: true,
  } as const;
  return [...plain, notModified, ...zipped];
}

interface Side extends Throughput {
  /** Microseconds of processor time per request; NaN where the system does not report it. */
  processorTime: number;
}
type Sides = Record<string, Side[]>;

/** Loads our server and each peer in turn, after a check that their responses are the same. */
async function measureCase(
  { tools, effort }: Bench,
  one: Case,
  parts: {
    server: Server;
    peers: Readonly<Record<string, Peer>>;
    resources: readonly HttpResource[];
    scratch: string;
  },
): Promise<Sides> {
  const { server, peers, resources, scratch } = parts;
  const resource = resources.find(({ path }) => path === one.path)!;
  const origins: Record<string, { origin: string; pid: number; etag: string }> = {
    krmhub: { origin: server.url, pid: server.pid, etag: resource.headers.etag! },
  };
  for (const [name, peer] of Object.entries(peers))
    origins[name] = { origin: peer.origin, pid: peer.pid, etag: peer.etag(one.path) };
  const sides: Record<string, () => Promise<Side>> = {};
  for (const [name, { origin, pid, etag }] of Object.entries(origins)) {
    const headers: Record<string, string> = { 'Accept-Encoding': one.coding };
    if (one.conditional) headers['If-None-Match'] = etag;
    await checkAnswer(origin + one.path, headers, one, resource);
    const load = { origin, paths: [one.path], headers, milliseconds: effort.milliseconds, scratch };
    sides[name] = async () => {
      const before = readProcessorTime(pid);
      const throughput = await getLoad(tools, load);
      return { ...throughput, processorTime: (readProcessorTime(pid) - before) / throughput.requests };
    };
  }
  // One warm-up without counting: compiles the code and caches the files on every side.
  if (!effort.quick) for (const warm of Object.values(sides)) await warm();
  return alternate(effort.rounds, sides);
}

async function checkAnswer(
  url: string,
  headers: Record<string, string>,
  one: Case,
  resource: HttpResource,
): Promise<void> {
  const answer = await get(url, headers);
  const expected = one.conditional ? Buffer.alloc(0) : Buffer.from(resource[one.coding], 'base64');
  if (answer.status !== (one.conditional ? 304 : 200) || !answer.bytes.equals(expected)) {
    throw new Error(
      `${url} returns ${answer.status} with ${answer.bytes.byteLength} bytes, unlike our server`,
    );
  }
}

function rates(measured: Sides, side: string): number[] {
  return measured[side]!.map(({ perSecond }) => perSecond);
}

/** Other activity on the machine disturbs it less than it disturbs a rate. */
function processorTimes(measured: Sides): string {
  const times = Object.entries(measured).map(([name, rounds]) => {
    const { median } = spread(rounds.map(({ processorTime }) => processorTime));
    return `${name} ${number(median)} µs`;
  });
  return `CPU per request: ${times.join(', ')}`;
}

function toLine(one: Case, functions: number, measured: Sides, quick: boolean): Line {
  const ours = rates(measured, 'krmhub');
  const against = ratio(ours, rates(measured, 'node'));
  const p99 = spread(measured.krmhub!.map((round) => round.p99)).median;
  const nginx = measured.nginx && rates(measured, 'nginx');
  return {
    row: 'http',
    what: one.what,
    functions,
    ours: `${perSecond(spread(ours).median)}, p99 ${milliseconds(p99)}`,
    against: `node:http ${perSecond(spread(rates(measured, 'node')).median)}`,
    ratio: against,
    beside: [
      nginx === undefined
        ? 'nginx is not installed'
        : `nginx ${perSecond(spread(nginx).median)}: ${number(ratio(ours, nginx).median)}`,
      processorTimes(measured),
    ].join('; '),
    ...(one.counts && !quick ? { target: atLeast(against, 0.9) } : {}),
    figures: {
      oursPerSecond: spread(ours).median,
      oursP99Milliseconds: p99,
      oursProcessorMicroseconds: spread(measured.krmhub!.map(({ processorTime }) => processorTime)).median,
      nodeProcessorMicroseconds: spread(measured.node!.map(({ processorTime }) => processorTime)).median,
      nodePerSecond: spread(rates(measured, 'node')).median,
      ...(nginx === undefined
        ? {}
        : { nginxPerSecond: spread(nginx).median, ratioToNginx: ratio(ours, nginx).median }),
    },
  };
}
