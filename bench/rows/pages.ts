import { get } from '../catalog-resources.js';
import { bytes, percentiles } from '../figures.js';
import { clientLoad } from '../load.js';
import { alternate, latency, ratio } from '../measure.js';
import { largestPaint } from '../paint.js';
import type { HttpResource } from '../peer-http.js';
import { startNodePeer } from '../peers.js';
import { chooseQueries, searchPath } from '../queries.js';
import type { Bench, Line, Row } from '../row.js';
import { type Server, startServer, waitForBuild } from '../server.js';

const TARGET_P99_MILLISECONDS = 30;
const TARGET_BYTES = 60_000;
const TARGET_SCRIPT_BYTES = 10_000;
const TARGET_PAINT_MILLISECONDS = 1_000;
/** Different pages of each kind, so that a cache cannot serve them all. */
const PAGES = 200;
/** Milliseconds that are long enough to include a few slow responses. */
const MIN_MILLISECONDS = 2_500;

type Kind = 'home' | 'search' | 'function' | 'catalog';

/**
 * The peer is Node's HTTP server with the finished pages in memory: the difference is the cost of
 * rendering.
 */
export const pages: Row = {
  name: 'pages',
  title: 'web pages',
  async run(bench, functions) {
    const { tools, folders } = bench;
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    try {
      if (filled.firstBuild.seconds !== undefined) await waitForBuild(server, functions, 60);
      const lines: Line[] = [];
      const { names } = filled.corpus;
      const searches = Object.values(chooseQueries(filled.corpus)).flat();
      const paths: Record<Kind, string[]> = {
        home: ['/'],
        search: searches.map((query) => searchPageOf(searchPath(query))),
        function: names.map(({ group, kind }) => `/functions/${group}/${kind}`),
        catalog: ['/catalogs/default'],
      };
      for (const [kind, list] of Object.entries(paths) as [Kind, string[]][]) {
        bench.report(`pages: ${kind}`);
        lines.push(await measurePages(bench, { kind, list: spreadOver(list, PAGES), server, functions }));
      }
      lines.push(await scriptLine(server, functions));
      bench.report('pages: as a phone shows them');
      lines.push(...(await paintLines(bench, server, paths, functions)));
      return bench.effort.quick ? lines.map(({ target: _, ...line }) => line) : lines;
    } finally {
      await server.stop();
    }
  },
};

const AS_BROWSERS = { Accept: 'text/html', 'Accept-Encoding': 'gzip' };

async function measurePages(
  { tools, folders, effort }: Bench,
  { kind, list, server, functions }: { kind: Kind; list: string[]; server: Server; functions: number },
): Promise<Line> {
  const scratch = await folders.scratch();
  const resources = await resourcesOf(server, list);
  const sizes = resources.map(({ gzip }) => Buffer.byteLength(gzip, 'base64'));
  const largest = Math.max(...sizes);
  const peer = await startNodePeer(tools, scratch, resources);
  const milliseconds = Math.max(effort.quick ? 0 : MIN_MILLISECONDS, effort.milliseconds);
  const requests = list.map((path) => ({ method: 'GET', path, headers: AS_BROWSERS }));
  const all: Record<'krmhub' | 'node', number[]> = { krmhub: [], node: [] };
  const side = (name: keyof typeof all, origin: string) => async () => {
    const load = { origin, requests, connections: 1, milliseconds };
    const measured = await clientLoad(tools, load, scratch);
    all[name].push(...measured.milliseconds);
    return latency(measured.milliseconds).p50;
  };
  try {
    const rounds = await alternate(effort.rounds, {
      krmhub: side('krmhub', server.url),
      node: side('node', peer.origin),
    });
    const [ours, theirs] = [latency(all.krmhub), latency(all.node)];
    return {
      row: 'pages',
      what: `${kind}, one at a time`,
      functions,
      ours: percentiles(ours),
      against: `node:http with the finished pages ${percentiles(theirs)}`,
      ratio: ratio(rounds.krmhub, rounds.node),
      beside: `${list.length} ${list.length === 1 ? 'page' : 'pages'}, ${ours.count} requests; the largest ${bytes(largest)} on the wire`,
      target: {
        text: `p99 < ${TARGET_P99_MILLISECONDS} ms, < ${bytes(TARGET_BYTES)}`,
        met: ours.p99 < TARGET_P99_MILLISECONDS && largest < TARGET_BYTES,
      },
      figures: {
        oursP50Milliseconds: ours.p50,
        oursP99Milliseconds: ours.p99,
        nodeP50Milliseconds: theirs.p50,
        nodeP99Milliseconds: theirs.p99,
        largestBytes: largest,
      },
    };
  } finally {
    await peer.stop();
  }
}

/** Pages are rendered per request, so their length is not known before. */
async function resourcesOf(server: Server, list: readonly string[]): Promise<HttpResource[]> {
  const resources: HttpResource[] = [];
  for (const path of new Set(list)) {
    const plain = await get(server.url + path, { ...AS_BROWSERS, 'Accept-Encoding': 'identity' });
    const zipped = await get(server.url + path, AS_BROWSERS);
    if (plain.status !== 200) throw new Error(`${path}: ${plain.status}`);
    const { 'content-type': type = '', etag = '""', vary = '' } = plain.headers;
    resources.push({
      path,
      headers: { 'content-type': type, etag, vary, 'content-length': String(plain.bytes.byteLength) },
      identity: plain.bytes.toString('base64'),
      gzip: zipped.bytes.toString('base64'),
    });
  }
  return resources;
}

async function scriptLine(server: Server, functions: number): Promise<Line> {
  const page = await get(`${server.url}/`, AS_BROWSERS_PLAIN);
  const sources = [...page.bytes.toString().matchAll(/<script[^>]* src="([^"]+)"/g)].map(([, src]) => src!);
  if (sources.length === 0) throw new Error('the first page has no script');
  let size = 0;
  for (const source of sources) {
    const { pathname } = new URL(source, server.url);
    size += (await get(server.url + pathname, { 'Accept-Encoding': 'identity' })).bytes.byteLength;
  }
  return {
    row: 'pages',
    what: 'scripts of a page',
    functions,
    ours: `${bytes(size)}, not compressed`,
    target: { text: `< ${bytes(TARGET_SCRIPT_BYTES)}`, met: size < TARGET_SCRIPT_BYTES },
    figures: { scriptBytes: size },
  };
}

const AS_BROWSERS_PLAIN = { ...AS_BROWSERS, 'Accept-Encoding': 'identity' };

async function paintLines(
  { effort }: Bench,
  server: Server,
  paths: Record<Kind, string[]>,
  functions: number,
): Promise<Line[]> {
  const line = (kind: Kind): Pick<Line, 'row' | 'what' | 'functions'> => ({
    row: 'pages',
    what: `${kind} on a slow phone: Largest Contentful Paint`,
    functions,
  });
  const urls = Object.fromEntries(
    Object.entries(paths).map(([kind, [first]]) => [kind, server.url + first]),
  ) as Record<Kind, string>;
  const painted = await largestPaint(urls, effort.rounds);
  if (painted === undefined) {
    const why = 'Largest Contentful Paint: Chromium is not installed';
    return [{ row: 'pages', what: 'not measured', functions, ours: '', beside: why, figures: {} }];
  }
  return (Object.keys(urls) as Kind[]).map((kind) => {
    const { median, low, high } = painted[kind]!;
    return {
      ...line(kind),
      ours: `${Math.round(median)} ms (${Math.round(low)}–${Math.round(high)})`,
      beside: 'empty cache; 1.6 Mbit/s, 150 ms round trip, CPU 4 times slower',
      target: { text: `< ${TARGET_PAINT_MILLISECONDS} ms`, met: median < TARGET_PAINT_MILLISECONDS },
      figures: { medianMilliseconds: median, slowestMilliseconds: high },
    };
  });
}

/** The page of the same search as the API request. */
function searchPageOf(path: string): string {
  const { searchParams } = new URL(path, 'http://localhost');
  searchParams.delete('limit');
  return `/functions?${searchParams}`;
}

function spreadOver(list: readonly string[], count: number): string[] {
  const step = Math.max(1, list.length / count);
  return Array.from({ length: Math.min(count, list.length) }, (_, at) => list[Math.floor(at * step)]!);
}
