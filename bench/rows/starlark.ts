import { spawnSync } from 'node:child_process';
import { compile, parse, run } from '@krmhub/starlark';
import { milliseconds } from '../figures.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { atMost, type Line, type Row } from '../row.js';
import { type BenchProgram, PROGRAMS } from '../starlark-programs.js';

/** The command of starlark-go: `go install go.starlark.net/cmd/starlark@latest`. */
const REFERENCE = 'starlark';
const DIALECT = { recursion: true, topLevelControl: true, globalReassign: true };

export const starlark: Row = {
  name: 'starlark',
  title: 'Starlark programs',
  async run({ effort, report }) {
    const hasReference = spawnSync(REFERENCE, ['-c', '1'], { stdio: 'ignore' }).error === undefined;
    if (!hasReference) report(`starlark: ${REFERENCE} is not installed, so only JavaScript is the peer`);
    const lines: Line[] = [];
    for (const program of PROGRAMS) lines.push(...(await measure(program, effort.rounds, hasReference)));
    return lines;
  },
};

/** Parses, compiles and runs a program each time, as `krmhub build` does; starlark-go also starts a process. */
async function measure(program: BenchProgram, rounds: number, hasReference: boolean): Promise<Line[]> {
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
  const line = (peer: string, theirs: readonly number[]): Line => ({
    row: 'starlark',
    what: `${program.name}, and ${peer}`,
    ours: milliseconds(spread(times.ours).median),
    against: `${peer} ${milliseconds(spread(theirs).median)}`,
    ratio: ratio(times.ours, theirs),
    figures: {
      oursMilliseconds: spread(times.ours).median,
      peerMilliseconds: spread(theirs).median,
    },
  });
  const lines = [line('JavaScript', times.javascript)];
  if (!hasReference) return lines;
  const compared = line('starlark-go', times.reference);
  const limit = program.name.includes('loop') ? 0.5 : 1;
  return [...lines, { ...compared, target: atMost(compared.ratio!, limit) }];
}

function runReference(text: string): number {
  const args = ['-recursion', '-globalreassign', '-c', `${text}print(result)`];
  const { status, stderr } = spawnSync(REFERENCE, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`starlark-go failed: ${stderr}`);
  return Number(stderr);
}
