import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { spawnSync } from '../processes.js';
import { whyAccepted } from './differences.js';
import { type Case, findCases } from './find-cases.js';
import { makePrograms, type ProgramName } from './programs.js';
import { describe } from './report.js';
import { type Outcome, runCase, type Setting } from './run-case.js';

const HELP = `Runs end-to-end cases of kpt: each folder with a folder .expected is one.

  npm run kpt-e2e -- [options] FOLDER…

  --program NAME   krmhub (default) or kpt: what runs for the command kpt
  --only TEXT      only cases whose names contain the text
  --runs N         runs of each command over the same package, 1 by default
  --jobs N         cases at the same time
  --seconds N      that one command may take, 120 by default
  --engine NAME    docker (default), podman, or nerdctl: KPT_FN_RUNTIME
  --keep           keeps the folders of failed cases
  --names          prints the names of all cases that passed, too
  --json FILE      writes the names of passed, failed, and skipped cases

Functions are small programs of the harness, behind a program named docker: no containers, no network.
The exit code is 1 if a case failed or none passed, and 2 for wrong arguments.
`;

type Verdict = { case: Case; outcome?: Outcome; skipped?: string };

process.exitCode = await main(process.argv.slice(3));

async function main(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  let cases: Case[];
  try {
    options = readOptions(args);
    cases = options.folders.flatMap(findCases).filter(({ name }) => name.includes(options.only));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  const realKpt = findProgram('kpt');
  if (options.program === 'kpt' && realKpt === undefined) {
    process.stderr.write('kpt is not installed\n');
    return 2;
  }
  const programs = mkdtempSync(path.join(tmpdir(), 'kpt-e2e-programs-'));
  try {
    await makePrograms(programs, options.program, realKpt);
    const setting: Setting = { ...options, programs };
    const verdicts = await runAll(cases, setting, options);
    return report(verdicts, options);
  } finally {
    rmSync(programs, { recursive: true, force: true });
  }
}

function readOptions(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: args.filter((one) => one !== '--'),
    allowPositionals: true,
    options: {
      program: { type: 'string', default: 'krmhub' },
      only: { type: 'string', default: '' },
      runs: { type: 'string' },
      jobs: { type: 'string', default: String(Math.min(4, availableParallelism())) },
      seconds: { type: 'string', default: '120' },
      engine: { type: 'string', default: 'docker' },
      keep: { type: 'boolean', default: false },
      names: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  if (positionals.length === 0) throw new Error('a folder with cases is missing');
  if (values.program !== 'kpt' && values.program !== 'krmhub') {
    throw new Error(`--program: "${values.program}" must be kpt or krmhub`);
  }
  return {
    ...values,
    program: values.program as ProgramName,
    folders: positionals,
    runs: values.runs === undefined ? undefined : count('--runs', values.runs),
    jobs: count('--jobs', values.jobs),
    milliseconds: count('--seconds', values.seconds) * 1_000,
  };
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Error(`${option}: "${text}" must be a whole number above 0`);
  return Number(text);
}

/** Cases that must run alone come last. */
async function runAll(
  cases: readonly Case[],
  setting: Setting,
  { jobs }: { jobs: number },
): Promise<Verdict[]> {
  const verdicts = new Map<Case, Verdict>();
  const judge = async (one: Case) => {
    const skipped = whySkipped(one, setting);
    if (skipped !== undefined) return verdicts.set(one, { case: one, skipped });
    const outcome = await runCase(one, setting);
    const accepted = outcome.differences.length === 0 ? undefined : whyAccepted(setting.program, one.name);
    return verdicts.set(
      one,
      accepted === undefined ? { case: one, outcome } : { case: one, skipped: accepted },
    );
  };
  const queue = cases.filter(({ config }) => !config.sequential);
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await judge(next);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  for (const one of cases.filter(({ config }) => config.sequential)) await judge(one);
  return cases.map((one) => verdicts.get(one)!);
}

function whySkipped({ config }: Case, { engine }: Setting): string | undefined {
  if (config.skip) return 'its configuration says so';
  if (config.testType !== 'render' && config.testType !== 'eval') {
    return `it tests "${config.testType}", and this program runs eval and render`;
  }
  if (config.runtimes.length > 0 && !config.runtimes.includes(engine)) {
    return `it is for ${config.runtimes.join(', ')}, not for ${engine}`;
  }
  return undefined;
}

function report(verdicts: readonly Verdict[], options: { names: boolean; json?: string }): number {
  const names = { passed: [] as string[], failed: [] as string[], skipped: [] as string[] };
  for (const { case: one, outcome, skipped } of verdicts) {
    const unknown = one.config.unknown.join(', ');
    if (unknown !== '') console.log(`note: ${one.name}: unknown fields in its configuration: ${unknown}`);
    if (skipped !== undefined) {
      names.skipped.push(one.name);
      console.log(`skipped: ${one.name}: ${skipped}`);
    } else if (outcome!.differences.length === 0) {
      names.passed.push(one.name);
      if (options.names) console.log(`passed: ${one.name}`);
    } else {
      names.failed.push(one.name);
      const kinds = outcome!.differences.map(({ what }) => what).join(', ');
      console.log(`failed: ${one.name}: ${kinds}\n  $ ${outcome!.command.join(' ')}`);
      if (outcome!.kept !== undefined) console.log(`  kept in ${outcome!.kept}`);
      for (const difference of outcome!.differences) console.log(describe(difference));
    }
  }
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(names, undefined, 2)}\n`);
  const { passed, failed, skipped } = names;
  console.log(`${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`);
  return failed.length > 0 || passed.length === 0 ? 1 : 0;
}

function findProgram(name: string): string | undefined {
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
