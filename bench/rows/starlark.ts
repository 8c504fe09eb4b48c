import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_RUN_LIMITS } from '@krmhub/functions';
import { StarlarkSession } from '@krmhub/functions/starlark/starlark-session';
import { compile, parse, run } from '@krmhub/starlark';
import { milliseconds } from '../figures.js';
import { jsonProgram, KRM_SCRIPT, MARK, resourceList, toYaml, transformYaml } from '../krm-script.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { atMost, type Effort, type Line, type Row } from '../row.js';
import { type BenchProgram, PROGRAMS } from '../starlark-programs.js';

/** The command of starlark-go: `go install go.starlark.net/cmd/starlark@latest`. */
const REFERENCE = 'starlark';
/** Of the script over resources. */
const RESOURCES = [1_000, 10_000];
const MAX_SCRIPT_ROUNDS = 5;
const MAX_OUTPUT_BYTES = 100_000_000;
const DIALECT = { recursion: true, topLevelControl: true, globalReassign: true };

export const starlark: Row = {
  name: 'starlark',
  title: 'Starlark programs',
  async run({ effort, report }) {
    const hasReference = spawnSync(REFERENCE, ['-c', '1'], { stdio: 'ignore' }).error === undefined;
    if (!hasReference) report(`starlark: ${REFERENCE} is not installed, so only JavaScript is the peer`);
    const lines: Line[] = [];
    for (const program of PROGRAMS) lines.push(...(await measure(program, effort, hasReference)));
    const rounds = Math.min(effort.rounds, MAX_SCRIPT_ROUNDS);
    for (const resources of effort.quick ? [100] : RESOURCES) {
      lines.push(...(await measureScript(resources, rounds, hasReference)));
    }
    return lines;
  },
};

/** Parses, compiles and runs a program each time, as `krmhub build` does; starlark-go also starts a process. */
async function measure(
  program: BenchProgram,
  { rounds, quick }: Effort,
  hasReference: boolean,
): Promise<Line[]> {
  const text = `${program.starlark}result = main()\n`;
  const result = program.javascript();
  const check = (found: unknown) => {
    if (found !== result) throw new Error(`${program.name}: ${found} instead of ${result}`);
  };
  const times = await alternate(rounds, {
    ours: () => timed(() => check(run(compile(parse(text), { dialect: DIALECT })).globals.get('result'))),
    javascript: () => timed(() => check(program.javascript())),
    reference: () => (hasReference ? timed(() => check(runReference(text))) : Number.NaN),
  });
  const line = (peer: string, theirs: readonly number[]) => compared(program.name, peer, times.ours, theirs);
  const lines = [line('JavaScript', times.javascript)];
  if (!hasReference) return lines;
  const peer = line('starlark-go', times.reference);
  const limit = program.name.includes('loop') ? 0.5 : 1;
  return [...lines, { ...peer, ...(quick ? {} : { target: atMost(peer.ratio!, limit) }) }];
}

/**
 * Runs a function over resources as `krmhub build` does, in a thread of its own, from YAML to YAML with all comments.
 * The peers lose comments: the package yaml reads and writes the same text, and starlark-go JSON.
 */
async function measureScript(resources: number, rounds: number, hasReference: boolean): Promise<Line[]> {
  const list = resourceList(resources);
  const yaml = toYaml(list);
  const input = Buffer.from(yaml);
  const task = { name: 'main.star', script: Buffer.from(KRM_SCRIPT) };
  // Each Deployment has it twice, and the functionConfig once, which starlark-go does not print.
  const marks = resources + Math.ceil(resources / 3);
  const check = (output: string, more: number) => {
    const found = output.split(MARK).length - 1;
    if (found !== marks + more) throw new Error(`the script set ${found} labels instead of ${marks + more}`);
  };
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-bench-starlark-'));
  try {
    const file = path.join(folder, 'main.star');
    await writeFile(file, jsonProgram(list));
    const ours = async () => {
      const session = new StarlarkSession();
      const running = session.run(task, input, DEFAULT_RUN_LIMITS);
      const { output } = await running.finally(() => session.close());
      check(Buffer.from(output).toString(), 1);
    };
    const times = await alternate(rounds, {
      ours: () => timed(ours),
      javascript: () => timed(() => check(transformYaml(yaml), 1)),
      reference: () => (hasReference ? timed(() => check(reference([file]), 0)) : Number.NaN),
    });
    const what = `a function over ${resources} resources`;
    const lines = [compared(what, 'JavaScript with yaml', times.ours, times.javascript)];
    if (hasReference) lines.push(compared(what, 'starlark-go with JSON', times.ours, times.reference));
    return lines;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function compared(what: string, peer: string, ours: readonly number[], theirs: readonly number[]): Line {
  return {
    row: 'starlark',
    what: `${what}, and ${peer}`,
    ours: milliseconds(spread(ours).median),
    against: `${peer} ${milliseconds(spread(theirs).median)}`,
    ratio: ratio(ours, theirs),
    figures: {
      oursMilliseconds: spread(ours).median,
      peerMilliseconds: spread(theirs).median,
    },
  };
}

function runReference(text: string): number {
  return Number(reference(['-c', `${text}print(result)`]));
}

/** Returns what a program prints. */
function reference(program: readonly string[]): string {
  const args = ['-recursion', '-globalreassign', ...program];
  const { status, stderr } = spawnSync(REFERENCE, args, { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  if (status !== 0) throw new Error(`starlark-go failed: ${stderr}`);
  return stderr;
}
