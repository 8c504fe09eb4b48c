/**
 * Registers the subcommands of `krmhub fn`: their arguments, options, and help.
 *
 * @module
 */

import { PULL_POLICIES, type PullPolicy } from '@krmhub/functions/containers/container-arguments';
import type { Selector } from '@krmhub/functions/plan';
import { FILE_FORMATS, type FileFormat } from '@krmhub/functions/resource-list/file-formats';
import { defined } from '@krmhub/schema/defined';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type FnSettings, readOutput } from '../../fn/settings.js';
import type { Io } from '../../io/io.js';
import {
  collect,
  REQUIRE_DIGEST,
  type ResolutionOptions,
  type RunningOptions,
  readResolution,
  readRunning,
  withImagePrefix,
  withResolution,
  withRunning,
} from '../options.js';

/** Options that the commands of `krmhub fn` share. */

export interface FnCommandOptions extends ResolutionOptions, RunningOptions {
  output?: string;
  resultsDir?: string;
  truncateOutput: boolean;
  imagePullPolicy: PullPolicy;
  env?: string[];
  asCurrentUser?: boolean;
  imagePrefix?: string;
  allowNetwork?: boolean;
  allowPackageExec?: boolean;
  requireDigest?: boolean;
  enableExec?: boolean;
  format: FileFormat;
  dryRun?: boolean;
  skipUnreadable?: boolean;
  stats?: boolean;
  allowEmpty?: boolean;
}

/** For commands that read a package. */
export function withSkippedFiles(command: Command): Command {
  return command.option('--skip-unreadable', 'Leave out files that are not YAML of Kubernetes resources.');
}

/** For commands that write files that exist. */
export function formatOption(): Option {
  return new Option(
    '--format <format>',
    'edit: change only what the functions changed. kpt: write the files as kpt does.',
  )
    .choices(FILE_FORMATS)
    .default('edit');
}

/** What functions of a package may do, and how they run: for commands that render packages. */
export function withPackageRuns(command: Command): Command {
  return withSkippedFiles(withImagePrefix(withRunning(withResolution(command))))
    .option(
      '--allow-package-exec',
      'Run programs that the package names with `exec`. They have your permissions, and no sandbox.',
    )
    .option('--require-digest', REQUIRE_DIGEST)
    .option('--allow-empty', 'Let a function delete all resources that it gets.')
    .option(
      '-e, --env <variable>',
      'Variable for containers: NAME=VALUE, or NAME for your value. Repeatable.',
      collect,
    )
    .option('--as-current-user', 'Run containers as your user, not as nobody.')
    .addOption(
      new Option('--image-pull-policy <policy>', 'Download images: Always, IfNotPresent, or Never.')
        .argParser(parsePullPolicy)
        .default('missing', 'IfNotPresent'),
    );
}

/** For commands that run functions on a package. */
export function withFunctionRuns(command: Command): Command {
  return withPackageRuns(command)
    .option(
      '-o, --output <target>',
      'stdout, unwrap (YAML documents), a new folder, or json (a report). Default: change the files.',
    )
    .option('--results-dir <folder>', 'Write the results of the functions to this folder.')
    .addOption(formatOption())
    .option('--dry-run', 'Print how the files would change, and write nothing.')
    .option('--stats', 'Print the time, the memory, and the number of resources of each function.')
    .addOption(
      new Option('--truncate-output <boolean>', 'Show only four lines of results and error output.')
        .argParser(parseBoolean)
        .default(true, 'true'),
    )
    .addOption(new Option('--allow-network').hideHelp())
    .addOption(new Option('--allow-alpha-wasm').hideHelp());
}

/** Returns what `withFunctionRuns` parses. Throws `usage`. */
export async function readFnSettings(io: Io, options: FnCommandOptions): Promise<FnSettings> {
  const { lock, frozen = false, resultsDir, allowNetwork = false, enableExec = false } = options;
  const { allowPackageExec = false, requireDigest = false } = options;
  const permissions = readRunning(options, io.cwd);
  return {
    resolution: await readResolution(io, options),
    ...defined({ lock }),
    frozen,
    permissions: {
      ...permissions,
      network: permissions.network || allowNetwork,
    },
    allowPackageExec: allowPackageExec || enableExec,
    requireDigest,
    images: {
      pull: options.imagePullPolicy,
      asCurrentUser: options.asCurrentUser === true,
      env: options.env ?? [],
      ...defined({ prefix: options.imagePrefix }),
    },
    output: readOutput(options.output),
    ...defined({ resultsFolder: resultsDir }),
    isTruncated: options.truncateOutput,
    format: options.format,
    isDryRun: options.dryRun === true,
    skipsUnreadable: options.skipUnreadable === true,
    hasStats: options.stats === true,
    allowEmpty: options.allowEmpty === true,
  };
}

const SELECTED = ['api-version', 'group', 'kind', 'name', 'namespace'] as const;

/** Adds `--match-*` and `--exclude-*`. */
export function withSelectors(command: Command): Command {
  for (const [prefix, verb] of [
    ['match', 'Select'],
    ['exclude', 'Leave out'],
  ] as const) {
    for (const name of SELECTED) {
      const field = name === 'api-version' ? 'apiVersion' : name;
      command.option(`--${prefix}-${name} <${name}>`, `${verb} resources with this ${field}.`);
    }
    for (const name of ['labels', 'annotations'] as const) {
      command.option(
        `--${prefix}-${name} <key=value>`,
        `${verb} resources with this ${name.slice(0, -1)}. Repeatable.`,
        collectPair,
      );
    }
  }
  return command;
}

/** Returns the selector of the options with this prefix. */
export function readSelector(
  options: Readonly<Record<string, unknown>>,
  prefix: 'match' | 'exclude',
): Selector {
  const fields = ['ApiVersion', 'Group', 'Kind', 'Name', 'Namespace', 'Labels', 'Annotations'] as const;
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = options[`${prefix}${field}`];
      return value === undefined ? [] : [[`${field[0]!.toLowerCase()}${field.slice(1)}`, value]];
    }),
  );
}

function collectPair(value: string, previous: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = value.indexOf('=');
  if (at > 0) return { ...previous, [value.slice(0, at)]: value.slice(at + 1) };
  throw new InvalidArgumentError('Use KEY=VALUE.');
}

function parsePullPolicy(value: string): PullPolicy {
  const lower = value.toLowerCase();
  const policy = lower === 'ifnotpresent' ? 'missing' : PULL_POLICIES.find((one) => one === lower);
  if (policy !== undefined) return policy;
  throw new InvalidArgumentError('must be one of: Always, IfNotPresent, Never');
}

function parseBoolean(value: string): boolean {
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw new InvalidArgumentError('Use true or false.');
}
