import path from 'node:path';
import { AggregateServer, type Step } from '../aggregate-server.js';
import { type Client, measureStalls, type Waits } from '../aggregate-stalls.js';
import { root } from '../built.js';
import { bytes, milliseconds, number, percentiles } from '../figures.js';
import { alternate, ratio, spread } from '../measure.js';
import { hasProcessFigures, readMemory } from '../process-figures.js';
import { runProcess } from '../processes.js';
import type { Bench, Line, Row, Target } from '../row.js';
import { onCore } from '../tools.js';
import { startUpstreams, type Upstreams } from '../upstreams.js';

/** Milliseconds for everything: of few functions, and of many. */
const TARGET_FULL = { few: 600, many: 3_000 };
const TARGET_INCREMENTAL_MILLISECONDS = 200;
const TARGET_BYTES = 350_000_000;
/** The largest size that the targets are defined for. */
const TARGET_FUNCTIONS = 10_000;
/** The largest number of functions that counts as few. */
const FEW_FUNCTIONS = 1_000;
/** Changed entries of an upstream in the smaller of two changes. */
const FEW = 10;
/** With many functions, each round takes minutes. */
const MAX_LARGE_ROUNDS = 1;

interface Round {
  first: Step;
  newRecipe: Step;
  few: Step;
  all: Step;
  /** Bytes; the peak of the server. */
  peak: number;
}
/** The measurements of krmhub in milliseconds. */
type StepName = Exclude<keyof Round, 'peak'>;

export const aggregate: Row = {
  name: 'aggregate',
  title: 'catalog of upstream catalogs',
  async run(bench, functions) {
    const { tools, folders, effort } = bench;
    const upstreams = await startUpstreams(tools, await folders.scratch(), functions);
    try {
      const rounds = functions > TARGET_FUNCTIONS ? MAX_LARGE_ROUNDS : effort.rounds;
      const output = path.join(await folders.scratch(), 'merged.yaml');
      const sides = {
        krmhub: () => measureRound(bench, upstreams, functions),
        // Its duration grows in proportion to the number of functions, and is long.
        ...(tools.pyYaml && (functions <= TARGET_FUNCTIONS || effort.full)
          ? { pyYaml: () => mergeWithPython(bench, output, upstreams, functions) }
          : {}),
      };
      bench.report(
        `aggregate: ${functions} functions of ${upstreams.urls.length} upstreams, ${rounds} rounds`,
      );
      const measured = (await alternate<string, Round | number>(rounds, sides)) as {
        krmhub: Round[];
        pyYaml?: number[];
      };
      bench.report('aggregate: clients of a busy registry');
      const busy = await measureBusy(bench, upstreams, functions, rounds);
      const peak = Math.max(...measured.krmhub.map((round) => round.peak));
      const measurable = functions <= TARGET_FUNCTIONS && !effort.quick;
      return [
        ...stepLines(upstreams, functions, measured, measurable),
        ...clientLines(functions, busy.waits),
        ...(hasProcessFigures ? memoryLines(functions, { peak, busy }, measurable) : []),
      ];
    } finally {
      await upstreams.stop();
    }
  },
};

/** A new registry each time: content that is already stored is stored faster the second time. */
async function measureRound(bench: Bench, upstreams: Upstreams, functions: number): Promise<Round> {
  const { tools, folders } = bench;
  const registry = await AggregateServer.start(tools, await folders.scratch(), upstreams);
  const change = async (entries: number): Promise<Step> => {
    const { marker } = await upstreams.change(0, entries);
    return registry.refresh(0, upstreams.catalogs[0]!.entries[0]!, marker);
  };
  try {
    const first = await registry.apply(functions);
    const newRecipe = await registry.apply(functions);
    const few = await change(FEW);
    const all = await change(functions);
    return { first, newRecipe, few, all, peak: readMemory(registry.server.pid).peak };
  } finally {
    await registry.server.stop();
  }
}

/** Milliseconds of a script, without the start of its interpreter. */
async function mergeWithPython(
  { tools }: Bench,
  output: string,
  { urls }: Upstreams,
  functions: number,
): Promise<number> {
  const script = path.join(root, 'bench/merge-catalogs.py');
  const printed = await runProcess(onCore(tools, 'any', ['python3', script, output, ...urls]));
  const [merged, seconds] = printed.split(' ').map(Number);
  if (merged !== functions) throw new Error(`the script merged ${merged} functions instead of ${functions}`);
  return seconds! * 1_000;
}

/** A registry with clients, without a sync and during one. */
interface Busy {
  waits: Record<'idle' | 'busy', Waits[]>;
  /** Bytes; of the server. */
  peak: number;
}

async function measureBusy(
  bench: Bench,
  upstreams: Upstreams,
  functions: number,
  rounds: number,
): Promise<Busy> {
  const registry = await AggregateServer.start(bench.tools, await bench.folders.scratch(), upstreams);
  try {
    await registry.apply(functions);
    const waits = await measureStalls(bench, registry, upstreams, { functions, rounds });
    return { waits, peak: readMemory(registry.server.pid).peak };
  } finally {
    await registry.server.stop();
  }
}

function stepLines(
  { urls, bytes: size }: Upstreams,
  functions: number,
  measured: { krmhub: Round[]; pyYaml?: number[] },
  measurable: boolean,
): Line[] {
  const { krmhub, pyYaml } = measured;
  const line = (what: string, step: StepName, target: number, beside?: string): Line => {
    const times = krmhub.map((round) => round[step].whole);
    const { median, low, high } = spread(times);
    const build = spread(krmhub.map((round) => round[step].build)).median;
    return {
      row: 'aggregate',
      what,
      functions,
      ours: `${milliseconds(median)} (${milliseconds(low)}–${milliseconds(high)})`,
      ...(pyYaml === undefined
        ? {}
        : {
            against: `Python script ${milliseconds(spread(pyYaml).median)}`,
            ratio: ratio(times, pyYaml),
          }),
      beside: [`build ${milliseconds(build)}`, ...(beside === undefined ? [] : [beside])].join('; '),
      ...(measurable
        ? { target: { text: `≤ ${milliseconds(target)}`, met: median <= target } satisfies Target }
        : {}),
      figures: {
        medianMilliseconds: median,
        slowestMilliseconds: high,
        cutMilliseconds: build,
        ...(pyYaml === undefined ? {} : { pythonMilliseconds: spread(pyYaml).median }),
      },
    };
  };
  const whole = functions <= FEW_FUNCTIONS ? TARGET_FULL.few : TARGET_FULL.many;
  const missing = pyYaml === undefined ? '; the Python script not measured' : '';
  const upstreams = `${urls.length} upstreams, ${bytes(size)}${missing}`;
  return [
    line('first sync of all, and build', 'first', whole, upstreams),
    line('another recipe, no upstream changes', 'newRecipe', whole),
    line(`${FEW} entries of one upstream changed`, 'few', TARGET_INCREMENTAL_MILLISECONDS),
    line('all entries of one upstream changed', 'all', TARGET_INCREMENTAL_MILLISECONDS),
  ];
}

const CLIENTS: Record<Client, string> = {
  reads: 'GETs of `default` and of entries',
  searches: 'searches',
  publishes: 'publishes',
};

function clientLines(functions: number, { idle, busy }: Record<'idle' | 'busy', Waits[]>): Line[] {
  const middle = (rounds: readonly Waits[], client: Client) => ({
    p50: spread(rounds.map((round) => round[client].p50)).median,
    p99: spread(rounds.map((round) => round[client].p99)).median,
    count: rounds.reduce((sum, round) => sum + round[client].count, 0),
  });
  const slowest = (rounds: readonly Waits[], client: Client) => rounds.map((round) => round[client].p99);
  return (Object.keys(CLIENTS) as Client[]).map((client) => {
    const [ours, without] = [middle(busy, client), middle(idle, client)];
    return {
      row: 'aggregate',
      what: `${CLIENTS[client]} during a full sync and build`,
      functions,
      ours: percentiles(ours),
      against: `without it ${percentiles(without)}`,
      ratio: ratio(slowest(busy, client), slowest(idle, client)),
      beside: `ratio of p99; ${number(ours.count)} requests`,
      figures: {
        busyP50Milliseconds: ours.p50,
        busyP99Milliseconds: ours.p99,
        idleP50Milliseconds: without.p50,
        idleP99Milliseconds: without.p99,
      },
    };
  });
}

function memoryLines(
  functions: number,
  { peak, busy }: { peak: number; busy: Busy },
  measurable: boolean,
): Line[] {
  return [
    {
      row: 'aggregate',
      what: 'memory of syncs and builds',
      functions,
      ours: `peak ${bytes(peak)}`,
      ...(measurable ? { target: { text: `≤ ${bytes(TARGET_BYTES)}`, met: peak <= TARGET_BYTES } } : {}),
      figures: { peakBytes: peak },
    },
    {
      row: 'aggregate',
      what: 'memory of full syncs and builds, and of the clients',
      functions,
      ours: `peak ${bytes(busy.peak)}`,
      figures: { peakBytes: busy.peak },
    },
  ];
}
