import { Writable } from 'node:stream';
import type { FunctionResult } from '@krmhub/functions';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import type { FnSettings } from '../fn/settings.js';
import type { Layer } from '../function-configs/layers.js';
import { EXIT_CODE, FINDINGS, SUCCESS } from '../io/exit-code.js';
import type { Io, Output } from '../io/io.js';
import type { BuildOptions } from '../kustomize/run/build-kustomization.js';
import { packageFolder } from '../lock/lock-file.js';
import type { PlannedLock } from '../lock/open-lock.js';
import type { RunnerOptions } from '../run/prepared-function.js';

/** The commands that make manifests of a package. */
export type RenderCommand = 'build' | 'fn render' | 'fn run';

/** What these commands get from the user. */
export interface RenderOptions {
  build: Omit<BuildOptions, 'plannedLock' | 'onRun'>;
  fn: Omit<FnSettings, 'plannedLock' | 'onRun'>;
}

/** A function that ran. */
export interface RecordedRun {
  name: string;
  exact: string;
  /** Digests of its ResourceLists. */
  input: string;
  output: string;
  results: readonly FunctionResult[];
}

export interface RenderFailure {
  /** As the user would write it. */
  command: string;
  exitCode: number;
  message: string;
  hint?: string;
}

const WARNING = 'warning: ';

/** What a package gives with one lock. */
export interface Rendering {
  outputs: { command: RenderCommand; text: string }[];
  runs: RecordedRun[];
  /** Of stderr, without the word. */
  warnings: string[];
  failure?: RenderFailure;
  /** The ResourceList of the function that failed. */
  failedInput?: string;
}

/** The commands that apply to a package, in the order in which they are used. */
export function renderCommands({ type, file, folder, layers }: Layer): RenderCommand[] {
  if (type === 'kptfile') return ['fn render'];
  // A file with functionConfigs renders nothing.
  if (type === 'folder') return file === folder ? ['fn run'] : [];
  return layers.some((one) => one.type === 'kptfile' && one.folder === folder)
    ? ['fn render', 'build']
    : ['build'];
}

/**
 * Makes the manifests of a package with the given lock, by the code and the permissions of the commands that a user
 * runs. They print into memory, and write nothing.
 */
export async function renderWithLock(
  io: Io,
  target: string,
  {
    commands,
    options,
    plannedLock,
  }: { commands: readonly RenderCommand[]; options: RenderOptions; plannedLock: PlannedLock },
): Promise<Rendering> {
  const rendering: Rendering = { outputs: [], runs: [], warnings: [] };
  const onRun: RunnerOptions['onRun'] = ({ name, exact }, input, result) => {
    if (result === undefined || result.exitCode !== 0) {
      rendering.failedInput = Buffer.from(input).toString('utf8');
      return;
    }
    const { output, results } = result;
    rendering.runs.push({ name, exact, input: sha256(input), output: sha256(output), results });
  };
  for (const command of commands) {
    const stdout = collector();
    const stderr = collector();
    const own: Io = { ...io, stdout: stdout.stream, stderr: stderr.stream, exitCode: SUCCESS };
    let failure: Omit<RenderFailure, 'command'> | undefined;
    try {
      await run(own, command, target, { options, plannedLock, onRun });
      if (own.exitCode !== SUCCESS) failure = { exitCode: own.exitCode, message: lastLines(stderr.text()) };
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      failure = describe(error, lastLines(stderr.text()));
    }
    rendering.warnings.push(
      ...stderr
        .text()
        .split('\n')
        .filter((line) => line.startsWith(WARNING))
        .map((line) => line.slice(WARNING.length)),
    );
    if (failure !== undefined) {
      return { ...rendering, failure: { command: `krmhub ${command} ${shellWord(target)}`, ...failure } };
    }
    rendering.outputs.push({ command, text: stdout.text() });
  }
  return rendering;
}

async function run(
  io: Io,
  command: RenderCommand,
  target: string,
  {
    options: { build, fn },
    ...more
  }: { options: RenderOptions; plannedLock: PlannedLock; onRun: NonNullable<RunnerOptions['onRun']> },
): Promise<void> {
  if (command === 'build') {
    const { buildKustomization } = await import('../kustomize/run/build-kustomization.js');
    return buildKustomization(io, target, { ...build, ...more });
  }
  const settings: FnSettings = { ...fn, ...more, output: { type: 'unwrap' }, isDryRun: false };
  const folder = await packageFolder(io, target);
  if (command === 'fn render') {
    const { renderPackage } = await import('../fn/render-package.js');
    return renderPackage(io, folder, settings);
  }
  const { runPackage } = await import('../fn/run-package.js');
  return runPackage(io, folder, { settings, configs: [], isGlobal: false, arguments: [] });
}

function describe(error: KrmhubError, printed: string): Omit<RenderFailure, 'command'> {
  const { code, message, hint, diagnostics } = error;
  const lines = diagnostics.map((one) => `  ${one.message}`);
  return {
    exitCode: EXIT_CODE[code] === SUCCESS ? FINDINGS : EXIT_CODE[code],
    message: [message, ...lines, ...(printed === '' ? [] : [printed])].join('\n'),
    ...defined({ hint }),
  };
}

const MAX_LINES = 20;

function lastLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('warning: '));
  return lines.slice(-MAX_LINES).join('\n');
}

function collector(): { stream: Output; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}
