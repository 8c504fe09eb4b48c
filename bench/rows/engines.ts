import { type Cost, type Costs, measureCosts, READS, type ReadKind } from '../engines/costs.js';
import { measureLoads, prepareLoads } from '../engines/loads.js';
import { monthLines } from '../engines/month.js';
import { moveToSharedRegistry } from '../engines/shared-registry.js';
import { addedBytes, milliseconds, number, percentiles } from '../figures.js';
import { latency } from '../measure.js';
import { type Bench, type Line, type Row, Unmeasured } from '../row.js';
import { startServer, waitForBuild, waitUntilReady } from '../server.js';

/** Of one publish, without its snapshot. */
const MAX_STATEMENTS = 12;
const MAX_REQUESTS = 6;
/** Milliseconds until a new process is ready, for registries of up to so many functions. */
const START_TARGETS: readonly { functions: number; milliseconds: number }[] = [
  { functions: 10_000, milliseconds: 2_000 },
  { functions: 100_000, milliseconds: 5_000 },
];
/** Of a minute of a process without requests. */
const MAX_IDLE_STATEMENTS = 6;

/** All programs share all cores: with a core for each side, three processes would share one. */
export const engines: Row = {
  name: 'engines',
  title: 'PostgreSQL and S3',
  async run(bench, functions) {
    const { tools, folders, effort, report } = bench;
    if (tools.postgres === undefined) throw new Unmeasured('PostgreSQL is not installed');
    if (!tools.versitygw) throw new Unmeasured('versitygw is not installed');
    const filled = await folders.filled(functions);
    const { seconds, allowedSeconds } = filled.firstBuild;
    if (seconds === undefined) {
      throw new Unmeasured(
        `the first snapshot of ${functions} functions was not built within ${allowedSeconds} s`,
      );
    }
    report('engines: move');
    const registry = await moveToSharedRegistry(bench, filled);
    try {
      const costs = await measureCosts(bench, registry, filled);
      report('engines: start of a new process');
      const starts: number[] = [];
      for (let round = 0; round < (effort.quick ? 1 : 5); round++) starts.push(await registry.coldStart());
      const server = await startServer(tools, await folders.copy(filled), { core: 'any' });
      try {
        await waitForBuild(server, functions, 60);
        await waitUntilReady(server);
        const scratch = await folders.scratch();
        const blob = await prepareLoads(bench, server, filled, scratch);
        const embedded = { name: 'embedded', servers: [server], blob };
        const loads: Omit<Line, 'functions'>[] = [];
        let sharedBlob: string | undefined;
        for (const [count, name] of [
          [1, 'one process'],
          [3, 'three processes'],
        ] as const) {
          const servers = await registry.run(count);
          sharedBlob ??= await prepareLoads(bench, servers[0]!, filled, scratch);
          const shared = { name, servers, blob: sharedBlob, databasePid: registry.databasePid };
          loads.push(...(await measureLoads(bench, filled, { shared, embedded }, scratch)));
        }
        const lines = [
          moveLine(registry.moveMilliseconds, functions),
          startLine(starts, functions, effort.quick),
          ...loads,
          ...costLines(bench, costs),
          ...monthLines(costs),
        ];
        return lines.map((line) => ({ ...line, functions }));
      } finally {
        await server.stop();
      }
    } finally {
      await registry.close();
    }
  },
};

function moveLine(time: number, functions: number): Omit<Line, 'functions'> {
  return {
    row: 'engines',
    what: '`krmhub move` from the embedded engines',
    ours: milliseconds(time),
    beside: `${number((functions * 1_000) / time)} functions/s`,
    figures: { moveMilliseconds: time },
  };
}

function startLine(starts: readonly number[], functions: number, isQuick: boolean): Omit<Line, 'functions'> {
  const { p50 } = latency(starts);
  const limit = START_TARGETS.find((target) => functions <= target.functions)?.milliseconds;
  return {
    row: 'engines',
    what: 'a new process with an empty data folder, until it is ready',
    ours: percentiles(latency(starts)),
    ...(limit === undefined || isQuick
      ? {}
      : { target: { text: `≤ ${milliseconds(limit)}`, met: p50 <= limit } }),
    figures: { startMilliseconds: p50 },
  };
}

function costLines({ effort }: Bench, costs: Costs): Omit<Line, 'functions'>[] {
  const { alone, accepting, building, following, idle, idleLeader, reads, growth } = costs;
  const line = (what: string, cost: Cost, each: '' | ' a minute' = ''): Omit<Line, 'functions'> => {
    const { statements, work, puts, gets } = cost;
    const parts = Object.entries(work).filter(([, value]) => value >= 0.05);
    return {
      row: 'engines',
      what,
      ours: `${count(statements)} statements${each}, ${requests(cost)}`,
      beside: parts.map(([name, value]) => `${name} ${count(value)}`).join(', '),
      figures: { statements, puts, gets, ...work },
    };
  };
  const idleLine = (what: string, cost: Cost) => ({
    ...line(what, cost, ' a minute'),
    ...(effort.quick
      ? {}
      : {
          target: {
            text: `≤ ${MAX_IDLE_STATEMENTS} a minute`,
            met: cost.statements <= MAX_IDLE_STATEMENTS,
          },
        }),
  });
  // A process that accepts a publish also follows the snapshot.
  const statements = accepting.work.requests ?? accepting.statements;
  const isMet = statements <= MAX_STATEMENTS && accepting.puts + accepting.gets <= MAX_REQUESTS;
  return [
    {
      ...line('one publish, on the process that accepts it', accepting),
      ...(effort.quick
        ? {}
        : { target: { text: `≤ ${MAX_STATEMENTS} statements, ${MAX_REQUESTS} requests`, met: isMet } }),
    },
    line('its snapshot, on the process that builds it', building),
    line('both, on a third process', following),
    line('both, with one process', alone),
    ...(Object.keys(READS) as ReadKind[]).map((kind) => line(`one ${READS[kind]}`, reads[kind])),
    idleLine('no requests, the leader', idleLeader),
    idleLine('no requests, another process', idle),
    {
      row: 'engines',
      what: 'storage of one publish and its snapshot',
      ours: `${addedBytes(growth.databaseBytes)} in PostgreSQL, ${addedBytes(growth.objectBytes)} in S3`,
      beside: `${count(growth.rows)} rows`,
      figures: { ...growth },
    },
  ];
}

/** Counts of a few: one digit after the point shows what only some operations do. */
function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 1 });
}

function requests({ puts, gets }: Cost): string {
  if (puts + gets === 0) return 'no S3 requests';
  const parts = [...(puts > 0 ? [`${count(puts)} PUT`] : []), ...(gets > 0 ? [`${count(gets)} GET`] : [])];
  return `${parts.join(', ')} to S3`;
}
