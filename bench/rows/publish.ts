import path from 'node:path';
import { sqlite } from '../built.js';
import { percentiles, perSecond } from '../figures.js';
import { clientLoad } from '../load.js';
import { alternate, latency, ratio, spread } from '../measure.js';
import { newFunctions, publishRequest } from '../publishing.js';
import { atLeast, type Row } from '../row.js';
import { startServer } from '../server.js';

const AT_A_TIME = 4;
const PER_ROUND = 100;

export const publish: Row = {
  name: 'publish',
  title: 'durable publishes',
  async run(bench, functions) {
    const { tools, folders, effort } = bench;
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    const scratch = await folders.scratch();
    const commits = await openSqlCommits(path.join(scratch, 'bare.db'));
    try {
      const next = newFunctions();
      const count = effort.quick ? 20 : PER_ROUND;
      const batches = Array.from({ length: effort.rounds + 1 }, () => Array.from({ length: count }, next));
      const latencies: number[] = [];
      const turn = { krmhub: 0, sqlite: 0 };
      const sides = {
        krmhub: async () => {
          const requests = batches[turn.krmhub++]!.map((release) => publishRequest(server, release));
          const load = { origin: server.url, requests, connections: AT_A_TIME };
          const result = await clientLoad(tools, load, scratch);
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
      bench.report(`publish: ${effort.rounds} rounds of ${count}`);
      await alternate(1, sides);
      latencies.length = 0;
      const measured = await alternate(effort.rounds, sides);
      const against = ratio(measured.krmhub, measured.sqlite);
      const [ours, theirs] = [spread(measured.krmhub).median, spread(measured.sqlite).median];
      const found = latency(latencies);
      return [
        {
          row: 'publish',
          what: `new functions, ${AT_A_TIME} at a time`,
          functions,
          ours: `${perSecond(ours)}, ${percentiles(found)}`,
          against: `SQLite ${perSecond(theirs)}`,
          ratio: against,
          ...(effort.quick ? {} : { target: atLeast(against, 0.5) }),
          figures: {
            oursPerSecond: ours,
            sqlitePerSecond: theirs,
            oursP50Milliseconds: found.p50,
            oursP99Milliseconds: found.p99,
          },
        },
      ];
    } finally {
      commits.close();
      await server.stop();
    }
  },
};

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
