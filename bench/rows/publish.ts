import path from 'node:path';
import { sqlite } from '../built.js';
import { percentiles, perSecond } from '../figures.js';
import { clientLoad } from '../load.js';
import { alternate, latency, ratio, spread } from '../measure.js';
import { newFunctions, publishRequest } from '../publishing.js';
import { atLeast, type Bench, type Line, type Row } from '../row.js';
import { type Server, startServer } from '../server.js';

/** Publishers of the measurements against SQLite. */
const AT_A_TIME = [4, 16] as const;
const PER_ROUND = 500;
/** The rate of a new server doubles over about 2,000 publishes, which V8 compiles: a round is not measured either. */
const WARM_UP = 1_500;
/** Publishers while the delay of the main thread is measured. */
const PUBLISHERS = 50;
const DELAY = 'krmhub_main_thread_delay_seconds';
/** Milliseconds. */
const MAX_DELAY = 20;

export const publish: Row = {
  name: 'publish',
  title: 'durable publishes',
  async run(bench, functions) {
    const { tools, folders } = bench;
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    const scratch = await folders.scratch();
    const commits = await openSqlCommits(path.join(scratch, 'bare.db'));
    try {
      const next = newFunctions();
      const lines: Omit<Line, 'functions'>[] = [];
      bench.report('publish: warm-up');
      await warmUp(bench, { server, scratch, next });
      for (const publishers of AT_A_TIME) {
        bench.report(`publish: ${publishers} at a time`);
        lines.push(await measurePublishes(bench, { server, scratch, commits, next }, publishers));
      }
      bench.report(`publish: delay of the main thread with ${PUBLISHERS} publishers`);
      lines.push(await measureDelay(bench, { server, scratch, next }));
      return lines.map((line) => ({ ...line, functions }));
    } finally {
      commits.close();
      await server.stop();
    }
  },
};

async function warmUp({ tools, effort }: Bench, { server, scratch, next }: Parts): Promise<void> {
  const count = effort.quick ? 20 : WARM_UP;
  const requests = Array.from({ length: count }, () => publishRequest(server, next()));
  await clientLoad(tools, { origin: server.url, requests, connections: Math.max(...AT_A_TIME) }, scratch);
}

interface Parts {
  server: Server;
  scratch: string;
  next: ReturnType<typeof newFunctions>;
}

async function measurePublishes(
  { tools, effort }: Bench,
  { server, scratch, commits, next }: Parts & { commits: Awaited<ReturnType<typeof openSqlCommits>> },
  connections: number,
): Promise<Omit<Line, 'functions'>> {
  const count = effort.quick ? 20 : PER_ROUND;
  const batches = Array.from({ length: effort.rounds + 1 }, () => Array.from({ length: count }, next));
  const latencies: number[] = [];
  const turn = { krmhub: 0, sqlite: 0 };
  const sides = {
    krmhub: async () => {
      const requests = batches[turn.krmhub++]!.map((release) => publishRequest(server, release));
      const result = await clientLoad(tools, { origin: server.url, requests, connections }, scratch);
      latencies.push(...result.milliseconds);
      return count / result.seconds;
    },
    sqlite: () => {
      const texts = batches[turn.sqlite++]!.map(({ text }) => Buffer.from(text));
      const started = performance.now();
      for (const text of texts) commits.add(text);
      return count / ((performance.now() - started) / 1000);
    },
  };
  await alternate(1, sides);
  latencies.length = 0;
  const measured = await alternate(effort.rounds, sides);
  const against = ratio(measured.krmhub, measured.sqlite);
  const [ours, theirs] = [spread(measured.krmhub).median, spread(measured.sqlite).median];
  const found = latency(latencies);
  return {
    row: 'publish',
    what: `new functions, ${connections} at a time`,
    ours: `${perSecond(ours)}, ${percentiles(found)}`,
    against: `SQLite ${perSecond(theirs)}`,
    ratio: against,
    ...(effort.quick ? {} : { target: atLeast(against, 0.2) }),
    figures: {
      oursPerSecond: ours,
      sqlitePerSecond: theirs,
      oursP50Milliseconds: found.p50,
      oursP99Milliseconds: found.p99,
    },
  };
}

/** The server measures the delay itself, in a histogram. */
async function measureDelay(
  { tools, effort }: Bench,
  { server, scratch, next }: Parts,
): Promise<Omit<Line, 'functions'>> {
  const count = (effort.quick ? 1 : effort.rounds) * PER_ROUND;
  const requests = Array.from({ length: count }, () => publishRequest(server, next()));
  const before = await delays(server);
  await clientLoad(tools, { origin: server.url, requests, connections: PUBLISHERS }, scratch);
  const after = await delays(server);
  const during = after.map(({ bound, count: total }, at) => ({ bound, count: total - before[at]!.count }));
  const total = during.at(-1)!.count;
  const milliseconds = during.find(({ count: below }) => below >= 0.99 * total)!.bound * 1_000;
  return {
    row: 'publish',
    what: `delay of the main thread, ${PUBLISHERS} at a time`,
    ours: `p99 ≤ ${milliseconds} ms`,
    beside: `${count} publishes, ${total} measurements of the delay`,
    ...(effort.quick ? {} : { target: { text: `p99 ≤ ${MAX_DELAY} ms`, met: milliseconds <= MAX_DELAY } }),
    figures: { delayP99BoundMilliseconds: milliseconds },
  };
}

/** Returns the measurements up to each bound in seconds. */
async function delays({ url }: Server): Promise<{ bound: number; count: number }[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.matchAll(new RegExp(`^${DELAY}_bucket\\{le="([^"]+)"\\} (\\d+)$`, 'gm'));
  return [...lines].map(([, bound, count]) => ({
    bound: bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound),
    count: Number(count),
  }));
}

/** One row and one commit per definition, as durable as the registry's. */
async function openSqlCommits(file: string): Promise<{ add(bytes: Buffer): void; close(): void }> {
  const Database = await sqlite();
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE definition (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
  const insert = database.prepare('INSERT INTO definition (bytes) VALUES (?)');
  return {
    add: (bytes) => {
      insert.run(bytes);
    },
    close: () => {
      database.close();
    },
  };
}
