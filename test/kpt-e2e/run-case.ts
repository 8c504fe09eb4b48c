import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compare, type Difference } from './compare.js';
import { type CaseConfig, EXPECTED } from './config.js';
import { withoutStatus } from './differences.js';
import type { Case } from './find-cases.js';
import type { ProgramName } from './programs.js';
import { type Finished, runCommand } from './run-command.js';

export interface Setting {
  /** Runs for the command kpt. */
  program: ProgramName;
  /** First on the PATH. */
  programs: string;
  /** The container engine that the case is told to use. */
  engine: string;
  /** Of one command. */
  milliseconds: number;
  /** How often each command runs if the case does not say; undefined is once. */
  runs: number | undefined;
  /** Keep the folders of failed cases. */
  keep: boolean;
}

export interface Outcome {
  differences: Difference[];
  /** What ran, for the report. */
  command: readonly string[];
  /** The folder of a failed case that is kept. */
  kept?: string;
}

/** Runs a case in a repository of its own in a temporary folder, and compares what it leaves. */
export async function runCase(one: Case, setting: Setting): Promise<Outcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kpt-e2e-'));
  const run = new CaseRun(one, setting, folder);
  const outcome = await run.outcome();
  if (outcome.differences.length > 0 && (setting.keep || one.config.debug))
    return { ...outcome, kept: folder };
  rmSync(folder, { recursive: true, force: true });
  return outcome;
}

class CaseRun {
  readonly #case: Case;
  readonly #setting: Setting;
  readonly #folder: string;
  readonly #package: string;
  readonly #results: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(one: Case, setting: Setting, folder: string) {
    this.#case = one;
    this.#setting = setting;
    this.#folder = folder;
    this.#package = path.join(folder, path.basename(one.folder));
    this.#results = path.join(folder, 'results');
    this.#env = environment(setting, folder);
  }

  async outcome(): Promise<Outcome> {
    const command = this.#command();
    await this.#preparePackage();
    const { runCount } = this.#case.config;
    const runs = runCount ?? this.#setting.runs ?? 1;
    for (let run = 0; run < runs; run++) {
      const differences = await this.#runOnce(command);
      if (differences.length > 0) return { differences, command };
      // As in kpt: a command that is expected to fail does not run again.
      if (this.#case.config.exitCode !== 0) break;
    }
    return { differences: [], command };
  }

  async #runOnce(command: readonly string[]): Promise<Difference[]> {
    const setup = await this.#script('setup.sh');
    if (setup !== undefined && setup.code !== 0) return [unprepared('setup', setup)];
    const finished = await this.#run(command, command[0] === 'bash' ? this.#package : this.#folder);
    if (finished.timedOut) {
      const limit = `${this.#setting.milliseconds / 1_000} seconds`;
      return [{ what: 'time', expected: limit, actual: `more\n${finished.stderr}` }];
    }
    const results = readText(path.join(this.#results, 'results.yaml'));
    const expected = {
      results: readText(this.#expected('results.yaml')),
      diff: readText(this.#expected('diff.patch')),
    };
    if (this.#setting.program === 'krmhub') this.#removeStatus();
    const diff = await this.#diff();
    const differences = compare(this.#setting.program, this.#case.config, expected, {
      ...finished,
      results,
      diff,
    });
    if (differences.length > 0) return differences;
    const teardown = await this.#script('teardown.sh');
    return teardown === undefined || teardown.code === 0 ? [] : [unprepared('teardown', teardown)];
  }

  #command(): string[] {
    const script = this.#expected('exec.sh');
    return existsSync(script) ? ['bash', script] : this.#commandLine();
  }

  #commandLine(): string[] {
    const { config, folder } = this.#case;
    const isOut = existsSync(path.join(folder, 'out'));
    const hasResults = existsSync(this.#expected('results.yaml'));
    const common = [
      'kpt',
      'fn',
      config.testType,
      this.#package,
      ...(hasResults ? ['--results-dir', this.#results] : []),
      ...(isOut ? ['-o', path.join(this.#package, 'out')] : []),
      ...(config.imagePullPolicy === undefined ? [] : ['--image-pull-policy', config.imagePullPolicy]),
      ...(config.disableOutputTruncate ? ['--truncate-output=false'] : []),
    ];
    return [
      ...common,
      ...(config.testType === 'eval'
        ? this.#evalOptions(config)
        : renderOptions(config, this.#setting.program)),
    ];
  }

  #evalOptions(config: CaseConfig): string[] {
    return [
      ...(config.network ? ['--network'] : []),
      ...(config.image === undefined ? [] : ['--image', config.image]),
      ...(config.exec === undefined ? [] : ['--exec', this.#executable(config.exec)]),
      ...(config.fnConfig === undefined ? [] : ['--fn-config', this.#expected(config.fnConfig)]),
      ...(config.includeMetaResources ? ['--include-meta-resources'] : []),
      ...(config.args.length > 0 ? ['--', ...config.args.map(([name, value]) => `${name}=${value}`)] : []),
    ];
  }

  /** Paths of a case are relative to its `.expected`; a name without a slash is looked for on the PATH. */
  #executable(text: string): string {
    const file = this.#expected(text);
    return existsSync(file) ? file : text;
  }

  #expected(name: string): string {
    return path.resolve(this.#case.folder, EXPECTED, name);
  }

  async #script(name: string): Promise<Finished | undefined> {
    const file = this.#expected(name);
    return existsSync(file) ? this.#run(['bash', file], this.#package) : undefined;
  }

  async #preparePackage(): Promise<void> {
    cpSync(this.#case.folder, this.#package, { recursive: true, verbatimSymlinks: true });
    mkdirSync(path.join(this.#folder, 'home'));
    await this.#done(['chmod', '-R', 'u+w', this.#package]);
    await this.#git('init', '--quiet');
    await this.#git('add', '--all', '--force');
    await this.#git('commit', '--quiet', '--allow-empty', '--message', 'first');
  }

  #removeStatus(): void {
    for (const folder of [this.#package, path.join(this.#package, 'pkg')]) {
      const file = path.join(folder, 'Kptfile');
      if (existsSync(file)) writeFileSync(file, withoutStatus(readText(file)));
    }
  }

  async #diff(): Promise<string> {
    await this.#git('add', '--all');
    return this.#git('diff', '--no-color', '--cached', 'HEAD');
  }

  #git(...args: string[]): Promise<string> {
    const settings = [
      'user.name=krmhub',
      'user.email=krmhub@example.com',
      'core.quotePath=false',
      'gc.auto=0',
    ];
    const options = settings.flatMap((one) => ['-c', one]);
    return this.#done(['git', ...options, '-C', this.#package, ...args]);
  }

  async #done(command: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#run(command, this.#folder);
    if (code !== 0) throw new Error(`${command.join(' ')} failed: ${stderr}`);
    return stdout;
  }

  #run(command: readonly string[], cwd: string): Promise<Finished> {
    return runCommand(command, { cwd, env: this.#env, milliseconds: this.#setting.milliseconds });
  }
}

function renderOptions(
  { allowExec, allowNetwork, allowWasm, network }: CaseConfig,
  program: ProgramName,
): string[] {
  return [
    ...(allowExec ? [program === 'kpt' ? '--allow-exec' : '--allow-package-exec'] : []),
    ...(allowNetwork || network ? ['--allow-network'] : []),
    ...(allowWasm ? ['--allow-alpha-wasm'] : []),
  ];
}

/** The environment of this process without settings that could change a result. */
function environment({ programs, engine }: Setting, folder: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:KRMHUB|KPT|GIT|XDG)_/.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: `${programs}${path.delimiter}${process.env.PATH}`,
    HOME: path.join(folder, 'home'),
    NO_COLOR: '1',
    KPT_FN_RUNTIME: engine,
    KPT_E2E_STORE: path.join(folder, 'engine'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  };
}

function unprepared(what: 'setup' | 'teardown', { code, stdout, stderr }: Finished): Difference {
  return { what, expected: '0', actual: `${code}\n${stdout}${stderr}` };
}

function readText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
