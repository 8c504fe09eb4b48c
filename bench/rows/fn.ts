import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { linkedCommand } from '../built.js';
import { bytes, milliseconds } from '../figures.js';
import { userEnvironment } from '../function-files.js';
import { peakMemory, readFolder, writePackage } from '../krm-packages.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { hasProcessFigures } from '../process-figures.js';
import { runProcess } from '../processes.js';
import { atMost, type Bench, type Line, type Row, Unmeasured } from '../row.js';

const RESOURCES = [10, 1_000, 10_000];
const CHAINS = [1, 5, 20];
/** The most rounds for so many resources times functions: kpt takes minutes for the largest packages. */
const ROUNDS = [
  { upTo: 2_000, rounds: 5 },
  { upTo: 10_000, rounds: 2 },
  { upTo: Number.POSITIVE_INFINITY, rounds: 1 },
];
/** What the start of the programs takes, in resources times functions. */
const OVERHEAD_UNITS = 1_000;
/** How long all packages may take without `--full`. */
const MOST_MILLISECONDS = 720_000;
const MEMORY_RESOURCES = [10_000, 100_000];
/** kpt takes too long for more. */
const MAX_KPT_MEMORY_RESOURCES = 10_000;

const SIDES = ['exec', 'starlark', 'kpt'] as const;
type Side = (typeof SIDES)[number];
const SHOWN = ['exec', 'Starlark'] as const;

interface Cell {
  resources: number;
  functions: number;
  rounds: number;
}

/** Of resources in packages, so it is measured once, whatever the sizes of registries are. */
const measured = new WeakSet<Bench>();

export const fn: Row = {
  name: 'fn',
  title: 'functions over packages',
  async run(bench) {
    if (measured.has(bench)) return [];
    measured.add(bench);
    if (!bench.tools.kpt) throw new Unmeasured('kpt is not installed');
    const lines = hasProcessFigures ? await measureMemory(bench) : [];
    return [...(await measureTimes(bench)), ...lines];
  },
};

/** Measures small packages first, and leaves out those for which the time is too short. */
async function measureTimes(bench: Bench): Promise<Line[]> {
  const { quick, full } = bench.effort;
  const cells = (quick ? [10] : RESOURCES).flatMap((resources) =>
    (quick ? [1] : CHAINS).map((functions) => ({ resources, functions })),
  );
  const lines: Line[] = [];
  let left = MOST_MILLISECONDS;
  let perUnit = 0;
  for (const { resources, functions } of cells) {
    const units = resources * functions;
    const cell = { resources, functions, rounds: roundsOf(bench, units) };
    const work = (units + OVERHEAD_UNITS) * cell.rounds;
    if (!full && perUnit * work > left) {
      lines.push(...SHOWN.map((runtime) => leftOut(whatOf(cell, runtime))));
      continue;
    }
    const milliseconds = await timed(async () => lines.push(...(await measure(bench, cell))));
    left -= milliseconds;
    perUnit = milliseconds / work;
  }
  return lines;
}

function roundsOf({ effort }: Bench, units: number): number {
  return Math.min(effort.rounds, ROUNDS.find(({ upTo }) => units <= upTo)!.rounds);
}

function whatOf({ resources, functions }: Cell, runtime: string): string {
  const noun = functions === 1 ? 'function' : 'functions';
  return `${resources.toLocaleString('en')} resources, ${functions} ${runtime} ${noun}`;
}

function leftOut(what: string): Line {
  return {
    row: 'fn',
    what,
    ours: '–',
    beside: 'kpt takes too long; measured with --full',
    figures: { rounds: 0 },
  };
}

/** Functions that change one label of each resource, so fast that what is around them is measured. */
function execPipeline(functions: number): string {
  const steps = Array.from({ length: functions }, (_, at) => {
    const command = `sed -e 's/round: "${at}"/round: "${at + 1}"/'`;
    return `    - exec: ${JSON.stringify(command)}\n`;
  });
  return `pipeline:\n  mutators:\n${steps.join('')}`;
}

const kptfile = (pipeline: string) =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: bench\n${pipeline}`;

/** The same as Starlark functions, which kpt has only in containers. */
async function writeStarlark(folder: string, functions: number): Promise<void> {
  await writeFile(path.join(folder, 'Kptfile'), kptfile(''));
  const functionsFolder = path.join(folder, 'functions');
  await mkdir(functionsFolder);
  for (let at = 0; at < functions; at++) {
    const name = `step-${String(at).padStart(2, '0')}`;
    const annotation = `    config.kubernetes.io/function: |\n      starlark: {path: ${name}.star}\n`;
    const metadata = `metadata:\n  name: ${name}\n  annotations:\n${annotation}`;
    const config = `apiVersion: example.com/v1\nkind: Step\n${metadata}`;
    await writeFile(path.join(functionsFolder, `${name}.yaml`), config);
    await writeFile(path.join(functionsFolder, `${name}.star`), starlarkStep(at));
  }
}

const starlarkStep = (at: number) => `def step(items):
    for item in items:
        labels = item["metadata"].get("labels", {})
        if labels.get("round") == "${at}":
            labels["round"] = "${at + 1}"

step(ctx.resource_list["items"])
`;

/** Measures krmhub with exec and with Starlark functions against one run of kpt with exec functions. */
async function measure(bench: Bench, cell: Cell): Promise<Line[]> {
  const { resources, functions, rounds } = cell;
  const scratch = await bench.folders.scratch();
  const folderOf = (side: Side) => path.join(scratch, side);
  const originalOf = (side: Side) => path.join(scratch, `for-${side}`);
  for (const side of SIDES) await writePackage(originalOf(side), resources, kptfile(execPipeline(functions)));
  await writeStarlark(originalOf('starlark'), functions);
  const env = userEnvironment(scratch);
  const run = async (side: Side): Promise<number> => {
    await rm(folderOf(side), { recursive: true, force: true });
    await cp(originalOf(side), folderOf(side), { recursive: true });
    return timed(() => runProcess(commandOf(side, folderOf(side)), { env }));
  };
  bench.report(`fn: ${resources} resources, ${functions} functions`);
  const times = await alternate(rounds, {
    exec: () => run('exec'),
    starlark: () => run('starlark'),
    kpt: () => run('kpt'),
  });
  for (const side of ['exec', 'starlark'] as const) {
    await checkSame(folderOf(side), folderOf('kpt'), `round: "${functions}"`);
  }
  await rm(scratch, { recursive: true, force: true });
  const lineOf = (side: 'exec' | 'starlark', runtime: string): Line => {
    const compared = ratio(times[side], times.kpt);
    const [ours, kpt] = [spread(times[side]).median, spread(times.kpt).median];
    return {
      row: 'fn',
      what: whatOf(cell, runtime),
      ours: milliseconds(ours),
      against: `kpt, exec ${milliseconds(kpt)}`,
      ratio: compared,
      ...(rounds === 1 && !bench.effort.quick ? { beside: 'one round' } : {}),
      ...(bench.effort.quick ? {} : { target: atMost(compared, resources >= 1_000 ? 0.5 : 1) }),
      figures: { oursMilliseconds: ours, kptMilliseconds: kpt },
    };
  };
  return [lineOf('exec', 'exec'), lineOf('starlark', 'Starlark')];
}

function commandOf(side: Side, folder: string): [string, string[]] {
  if (side === 'starlark') return [process.execPath, [linkedCommand, 'fn', 'run', folder]];
  const allow = side === 'kpt' ? '--allow-exec' : '--allow-package-exec';
  const args = ['fn', 'render', folder, allow];
  return side === 'kpt' ? ['kpt', args] : [process.execPath, [linkedCommand, ...args]];
}

/** Compares the resources; the functions of krmhub and the Kptfiles may differ. */
async function checkSame(ours: string, theirs: string, mark: string): Promise<void> {
  const [mine, other] = [await readFolder(ours), await readFolder(theirs)];
  for (const [name, text] of other) {
    if (name === 'Kptfile') continue;
    if (mine.get(name) !== text) throw new Error(`krmhub and kpt wrote different files, such as ${name}`);
    if (!text.includes(mark)) throw new Error(`the functions did not change ${name}`);
  }
}

/** Linear: ten times the resources take at most ten times the memory beyond that of an almost empty package. */
async function measureMemory(bench: Bench): Promise<Line[]> {
  const { quick } = bench.effort;
  const sizes = quick ? [10, 100] : MEMORY_RESOURCES;
  const measurePeak = async (side: 'exec' | 'kpt', resources: number): Promise<number> => {
    bench.report(`fn: memory of ${resources} resources, ${side}`);
    const scratch = await bench.folders.scratch();
    const folder = path.join(scratch, side);
    await writePackage(folder, resources, kptfile(execPipeline(1)));
    const peak = await peakMemory(commandOf(side, folder), userEnvironment(scratch));
    await rm(scratch, { recursive: true, force: true });
    return peak;
  };
  const least = await measurePeak('exec', 1);
  const lines: Line[] = [];
  let before: number | undefined;
  for (const resources of sizes) {
    const ours = await measurePeak('exec', resources);
    const kpt = resources > MAX_KPT_MEMORY_RESOURCES ? undefined : await measurePeak('kpt', resources);
    const each = (ours - least) / resources;
    lines.push({
      row: 'fn',
      what: `memory for ${resources.toLocaleString('en')} resources`,
      ours: bytes(ours),
      ...(kpt === undefined ? {} : { against: `kpt ${bytes(kpt)}`, ratio: ratio([ours], [kpt]) }),
      beside: `${bytes(each)} for each resource`,
      ...(quick || before === undefined ? {} : { target: { text: 'linear', met: each / before <= 1.2 } }),
      figures: { oursBytes: ours, ...(kpt === undefined ? {} : { kptBytes: kpt }) },
    });
    before = each;
  }
  return lines;
}
