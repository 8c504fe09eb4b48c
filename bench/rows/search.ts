import path from 'node:path';
import { get } from '../catalog-resources.js';
import { percentiles } from '../figures.js';
import { clientLoad } from '../load.js';
import { alternate, type Latency, latency, ratio } from '../measure.js';
import { newFunctions, publishRequest } from '../publishing.js';
import {
  chooseQueries,
  openSqlSearch,
  type Query,
  type QueryClass,
  type SqlSearch,
  searchPath,
} from '../queries.js';
import type { Bench, Line, Row } from '../row.js';
import { type Server, startServer, waitForBuild } from '../server.js';

const TARGET_P99_MILLISECONDS = 15;
/** Searches in flight in the mixed load. */
const SEARCHERS = 4;
const PUBLISHES_PER_SECOND = 10;
/** Milliseconds that are long enough to include a few slow responses. */
const MIN_MILLISECONDS = 1_500;

/**
 * The peer does not run our server's statement: it is the fastest SQLite statement that finds the same
 * rows.
 */
export const search: Row = {
  name: 'search',
  title: 'search with facets',
  async run(bench, functions) {
    const { tools, folders, effort } = bench;
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    try {
      if (filled.firstBuild.seconds !== undefined) await waitForBuild(server, functions, 60);
      const scratch = await folders.scratch();
      const bare = await openSqlSearch(path.join(filled.folder, 'registry.db'), scratch);
      const queries = chooseQueries(filled.corpus);
      const lines: Line[] = [];
      try {
        for (const [name, list] of Object.entries(queries) as [QueryClass, Query[]][]) {
          bench.report(`search: ${name}`);
          lines.push(await oneAtATime(bench, { name, list, server, bare, scratch, functions }));
        }
      } finally {
        bare.close();
      }
      for (const publishing of [false, true]) {
        bench.report(`search: mixed${publishing ? ', during publishes' : ''}`);
        lines.push(await mixed(bench, { queries, server, scratch, functions, publishing }));
      }
      return effort.quick ? lines.map(({ target: _, ...line }) => line) : lines;
    } finally {
      await server.stop();
    }
  },
};

interface SearchContext {
  name: QueryClass;
  list: Query[];
  server: Server;
  bare: SqlSearch;
  scratch: string;
  functions: number;
}

async function oneAtATime({ tools, effort }: Bench, asked: SearchContext): Promise<Line> {
  const { name, list, server, bare, scratch, functions } = asked;
  const time = Math.max(effort.quick ? 0 : MIN_MILLISECONDS, effort.milliseconds);
  const requests = list.map((query) => ({ method: 'GET', path: searchPath(query) }));
  const { differing, empty } = await comparePages(server, bare, list);
  const ours: number[] = [];
  const theirs: number[] = [];
  const rounds = await alternate(effort.rounds, {
    krmhub: async () => {
      const load = { origin: server.url, requests, connections: 1, milliseconds: time };
      const { milliseconds } = await clientLoad(tools, load, scratch);
      ours.push(...milliseconds);
      return latency(milliseconds).p50;
    },
    sqlite: () => {
      const milliseconds = sqlRound(bare, list, time);
      theirs.push(...milliseconds);
      return latency(milliseconds).p50;
    },
  });
  const [found, bareFound] = [latency(ours), latency(theirs)];
  return {
    row: 'search',
    what: name,
    functions,
    ours: percentiles(found),
    against: `SQLite ${percentiles(bareFound)}`,
    ratio: ratio(rounds.krmhub, rounds.sqlite),
    beside: [
      `${found.count} searches`,
      ...(differing > 0 ? [`different rows than SQLite for ${differing} of ${list.length} queries`] : []),
      ...(empty > 0 ? [`${empty} of ${list.length} queries find nothing`] : []),
    ].join('; '),
    target: p99Target(found),
    figures: toFigures(found, bareFound),
  };
}

/** The same queries in this process, sequentially. */
function sqlRound(bare: SqlSearch, list: readonly Query[], time: number): number[] {
  const milliseconds: number[] = [];
  const started = performance.now();
  for (let turn = 0; performance.now() - started < time; turn++) {
    const begun = performance.now();
    bare.rows(list[turn % list.length]!);
    milliseconds.push(performance.now() - begun);
  }
  return milliseconds;
}

async function mixed(
  { tools, effort }: Bench,
  parts: {
    queries: Record<QueryClass, Query[]>;
    server: Server;
    scratch: string;
    functions: number;
    publishing: boolean;
  },
): Promise<Line> {
  const { queries, server, scratch, functions, publishing } = parts;
  const time = (effort.quick ? 1 : 3) * Math.max(effort.quick ? 0 : MIN_MILLISECONDS, effort.milliseconds);
  const classes = Object.values(queries);
  const requests = Array.from({ length: 120 }, (_, turn) => {
    const list = classes[turn % classes.length]!;
    return { method: 'GET', path: searchPath(list[turn % list.length]!) };
  });
  const next = newFunctions();
  const publishes = Array.from({ length: Math.ceil((time / 1000) * PUBLISHES_PER_SECOND) }, () =>
    publishRequest(server, next()),
  );
  const [found, published] = await Promise.all([
    clientLoad(tools, { origin: server.url, requests, connections: SEARCHERS, milliseconds: time }, scratch),
    publishing
      ? clientLoad(
          tools,
          { origin: server.url, requests: publishes, connections: 2, perSecond: PUBLISHES_PER_SECOND },
          scratch,
        )
      : undefined,
  ]);
  const figures = latency(found.milliseconds);
  return {
    row: 'search',
    what: `mixed, ${SEARCHERS} at a time${publishing ? ', during publishes' : ''}`,
    functions,
    ours: percentiles(figures),
    beside: [
      `${figures.count} searches`,
      ...(published === undefined
        ? []
        : [
            `${publishes.length} publishes in ${published.seconds.toFixed(1)} s, ${percentiles(latency(published.milliseconds))}`,
          ]),
    ].join('; '),
    target: p99Target(figures),
    figures: toFigures(figures),
  };
}

/** Counts the queries whose pages differ from those of the peer, and those that find nothing. */
async function comparePages(
  server: Server,
  bare: SqlSearch,
  list: readonly Query[],
): Promise<{ differing: number; empty: number }> {
  const counts = { differing: 0, empty: 0 };
  for (const query of list) {
    const answer = await get(server.url + searchPath(query));
    if (answer.status !== 200) throw new Error(`${searchPath(query)}: ${answer.status} ${answer.bytes}`);
    const { items } = JSON.parse(answer.bytes.toString()) as { items: { group: string; kind: string }[] };
    const ours = items.map(({ group, kind }) => `${group}/${kind}`).join();
    if (ours === '') counts.empty += 1;
    if (bare.rows(query).join() !== ours) counts.differing += 1;
  }
  return counts;
}

function p99Target({ p99 }: Latency) {
  return { text: `p99 ≤ ${TARGET_P99_MILLISECONDS} ms`, met: p99 <= TARGET_P99_MILLISECONDS };
}

function toFigures(ours: Latency, bare?: Latency): Record<string, number> {
  return {
    oursP50Milliseconds: ours.p50,
    oursP99Milliseconds: ours.p99,
    searches: ours.count,
    ...(bare === undefined ? {} : { sqliteP50Milliseconds: bare.p50, sqliteP99Milliseconds: bare.p99 }),
  };
}
