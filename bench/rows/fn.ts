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
const MAX_ROUNDS = 5;
/** kpt takes minutes for more resources times functions. */
const LARGE = 20_000;
const LARGE_ROUNDS = 2;
const MEMORY_RESOURCES = [10_000, 100_000];

type Program = 'krmhub' | 'kpt';

/** Of resources in packages, so it is measured once, whatever the sizes of registries are. */
const measured = new WeakSet<Bench>();

export const fn: Row = {
  name: 'fn',
  title: 'functions over packages',
  async run(bench) {
    if (measured.has(bench)) return [];
    measured.add(bench);
    if (!bench.tools.kpt) throw new Unmeasured('kpt is not installed');
    const { quick } = bench.effort;
    const lines: Line[] = [];
    for (const resources of quick ? [10] : RESOURCES) {
      for (const functions of quick ? [1] : CHAINS) {
        lines.push(await measure(bench, resources, functions, 'exec'));
        lines.push(await measure(bench, resources, functions, 'Starlark'));
      }
    }
    if (hasProcessFigures) lines.push(...(await measureMemory(bench)));
    return lines;
  },
};

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

/** The same as Starlark functions, which kpt does not have: it runs the exec functions. */
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

async function measure(
  bench: Bench,
  resources: number,
  functions: number,
  runtime: 'exec' | 'Starlark',
): Promise<Line> {
  const scratch = await bench.folders.scratch();
  const original = { krmhub: path.join(scratch, 'for-krmhub'), kpt: path.join(scratch, 'for-kpt') };
  for (const folder of Object.values(original)) {
    await writePackage(folder, resources, kptfile(execPipeline(functions)));
  }
  if (runtime === 'Starlark') await writeStarlark(original.krmhub, functions);
  const env = userEnvironment(scratch);
  const render = async (program: Program): Promise<number> => {
    const copy = path.join(scratch, program);
    await rm(copy, { recursive: true, force: true });
    await cp(original[program], copy, { recursive: true });
    const command = runtime === 'exec' || program === 'kpt' ? renderCommand : starlarkCommand;
    return timed(() => runProcess(command(program, copy), { env }));
  };
  bench.report(`fn: ${resources} resources, ${functions} ${runtime} functions`);
  const most = resources * functions > LARGE ? LARGE_ROUNDS : MAX_ROUNDS;
  const rounds = Math.min(bench.effort.rounds, most);
  const times = await alternate(rounds, { krmhub: () => render('krmhub'), kpt: () => render('kpt') });
  await checkSame(path.join(scratch, 'krmhub'), path.join(scratch, 'kpt'), `round: "${functions}"`);
  await rm(scratch, { recursive: true, force: true });
  const compared = ratio(times.krmhub, times.kpt);
  const peer = runtime === 'exec' ? '`kpt fn render`' : '`kpt fn render` with exec functions';
  return {
    row: 'fn',
    what: `${resources.toLocaleString('en')} resources, ${functions} ${runtime} ${functions === 1 ? 'function' : 'functions'}`,
    ours: milliseconds(spread(times.krmhub).median),
    against: `${peer} ${milliseconds(spread(times.kpt).median)}`,
    ratio: compared,
    ...(bench.effort.quick ? {} : { target: atMost(compared, resources >= 1_000 ? 0.5 : 1) }),
    figures: { oursMilliseconds: spread(times.krmhub).median, kptMilliseconds: spread(times.kpt).median },
  };
}

function starlarkCommand(_: Program, folder: string): [string, string[]] {
  return [process.execPath, [linkedCommand, 'fn', 'run', folder]];
}

function renderCommand(program: Program, folder: string): [string, string[]] {
  const args = ['fn', 'render', folder, '--allow-exec'];
  return program === 'kpt' ? ['kpt', args] : [process.execPath, [linkedCommand, ...args]];
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
  const peaks = new Map<number, Record<Program, number>>();
  for (const resources of [1, ...sizes]) {
    bench.report(`fn: memory of ${resources} resources`);
    const scratch = await bench.folders.scratch();
    const env = userEnvironment(scratch);
    const peak = async (program: Program) => {
      const folder = path.join(scratch, program);
      await writePackage(folder, resources, kptfile(execPipeline(1)));
      return peakMemory(renderCommand(program, folder), env);
    };
    peaks.set(resources, { krmhub: await peak('krmhub'), kpt: await peak('kpt') });
    await rm(scratch, { recursive: true, force: true });
  }
  const each = (program: Program, resources: number) =>
    (peaks.get(resources)![program] - peaks.get(1)![program]) / resources;
  const growth = each('krmhub', sizes[1]!) / each('krmhub', sizes[0]!);
  return sizes.map((resources, at) => {
    const { krmhub, kpt } = peaks.get(resources)!;
    return {
      row: 'fn',
      what: `memory for ${resources.toLocaleString('en')} resources`,
      ours: bytes(krmhub),
      against: `kpt ${bytes(kpt)}`,
      ratio: ratio([krmhub], [kpt]),
      beside: `${bytes(each('krmhub', resources))} for each resource`,
      ...(quick || at === 0 ? {} : { target: { text: 'linear', met: growth <= 1.2 } }),
      figures: { oursBytes: krmhub, kptBytes: kpt },
    };
  });
}
