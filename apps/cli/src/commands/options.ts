/**
 * Registers the commands: their arguments, options, and help.
 *
 * A command imports its work when it runs: loading all of it takes longer than most commands run. This file has the
 * options that several commands share.
 *
 * @module
 */

import { isCatalogName } from '@krmhub/consume/references/catalog-name';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import type { EngineName } from '@krmhub/functions';
import { ENGINE_NAMES } from '@krmhub/functions/containers/container-run';
import { defined } from '@krmhub/schema/defined';
import { ARCHITECTURES, OPERATING_SYSTEMS, RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Platform } from '../functions/programs/programs.js';
import { parseDuration, parseTimeout } from '../io/duration.js';
import type { Io } from '../io/io.js';
import { OUTPUT_FORMATS } from '../io/print.js';
import { absoluteMount } from '../run/mounts.js';
import type { RunPermissions } from '../run/permissions.js';

/** Options and arguments that several commands share. */

/** What `withImagePrefix` parses. */
export interface ImagePrefixOptions {
  imagePrefix?: string;
}

/** For commands that read the images of a Kptfile. */
export function withImagePrefix(command: Command): Command {
  return command.option(
    '--image-prefix <prefix>',
    'Where images without a registry are. Default: ghcr.io/kptdev/krm-functions-catalog.',
  );
}

export function withRegistry(command: Command): Command {
  return command.option(
    '--registry <url>',
    'URL of the registry. Default: KRMHUB_REGISTRY, else that of `krmhub login`.',
  );
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'Output format.').choices(OUTPUT_FORMATS).default('table'),
  );
}

/** For commands that read catalogs which packages and options name. */
export function withCatalogs(command: Command): Command {
  return withSnapshotLimits(command)
    .option(
      '-c, --catalog <catalog>',
      'Search this catalog first, and trust it: a file, an https URL, git::…, oci://…, or a name. Repeatable.',
      collect,
    )
    .option(
      '--trusted-catalog <catalog>',
      'Trust this catalog if a package uses it; with @sha256:…, trust only this content. Repeatable.',
      collect,
    )
    .option(
      '--official <catalog>',
      'Search this catalog before all other catalogs, and trust it. Default: KRMHUB_OFFICIAL_CATALOG, else `official` in the trust file.',
    );
}

/** What `withCatalogs` parses. */
export interface CatalogOptions {
  catalog?: string[];
  trustedCatalog?: string[];
  official?: string;
}

/** For commands that look functions up in catalogs. */
export function withResolution(command: Command): Command {
  return withCatalogs(command)
    .addOption(new Option('--runtime <kind>', 'Use this kind of runtime.').choices(RUNTIME_KINDS))
    .option('--lock <file>', 'Use this lock file. Default: krmhub.lock, if it exists.')
    .option(
      '--frozen',
      'Use only the lock file and the cache. Review changes of krmhub.lock as you review code.',
    )
    .option('--offline', 'Use only the cache, not the network.');
}

/** What `withResolution` parses. */
export interface ResolutionOptions extends CatalogOptions {
  runtime?: RuntimeKind;
  lock?: string;
  frozen?: boolean;
  offline?: boolean;
}

/**
 * Returns the options of a resolver, without the lock file. What no option names comes from the environment and the
 * trust file. Throws `usage`, and `untrusted` if the trust file cannot be read.
 */
export async function readResolution(io: Io, options: ResolutionOptions): Promise<ResolverOptions> {
  const { catalog = [], trustedCatalog = [], runtime, offline = false, frozen = false } = options;
  if (frozen && io.snapshotLimits?.maxAge !== undefined) {
    throw new KrmhubError('usage', '--max-age cannot be combined with --frozen', {
      hint: 'A lock file has no time of a signature. Run `krmhub lock` with --max-age, and review the changes.',
    });
  }
  const { readDefaultCatalogs } = await import('@krmhub/consume/trust/default-catalogs');
  const defaults = await readDefaultCatalogs(io);
  const official =
    options.official === undefined ? defaults.official : { reference: options.official, by: '--official' };
  return {
    catalogs: catalog,
    trustedCatalogs: trustedCatalog,
    ...defined({ official: official?.reference, officialBy: official?.by }),
    defaultCatalogs: defaults.catalogs,
    offline: offline || frozen,
    ...defined({ runtime }),
  };
}

/** Help of `--require-digest`, of commands that run images which a package names. */
export const REQUIRE_DIGEST = 'Run only images with a digest: their own, or that of the lock file.';

/** For commands that build kustomizations. */
export function kustomizeOption(): Option {
  return new Option(
    '--kustomize <program>',
    'kustomize or kubectl program. Default: kustomize in PATH, else kubectl.',
  );
}

/** For commands that run functions: what the user allows them to do. */
export function withRunning(command: Command): Command {
  return command
    .option('--allow-exec', 'Run executables of catalogs, in a sandbox if this machine has one.')
    .option('--network', 'Allow network access for functions that require it in their catalog entry.')
    .option(
      '--mount <mount>',
      'Mount a folder for functions that require it in their catalog entry, for example type=bind,source=charts,target=/charts. Repeatable.',
      collect,
    )
    .addOption(
      new Option('--engine <engine>', 'Container engine. Default: the first that is available.').choices(
        ENGINE_NAMES,
      ),
    )
    .option(
      '--timeout <duration>',
      'Stop a function after this time, for example 90s. Default: 5m.',
      parseTimeout,
    );
}

/** What `withRunning` parses. */
export interface RunningOptions {
  allowExec?: boolean;
  network?: boolean;
  mount?: string[];
  engine?: EngineName;
  /** Seconds. */
  timeout?: number;
}

/** Returns what the user allows. Sources of mounts are relative to the current folder. Throws `usage`. */
export function readRunning(options: RunningOptions, folder: string): RunPermissions {
  const { allowExec = false, network = false, mount = [], engine, timeout } = options;
  return {
    allowExec,
    network,
    mounts: mount.map((text) => absoluteMount(text, folder)),
    ...defined({ engine, timeoutSeconds: timeout }),
  };
}

/** Splits the arguments at `--`, which commander removes: those of the command, and those that follow. */
export function splitArguments(
  command: Command,
  args: readonly string[],
): { own: string[]; following: string[] } {
  let root = command;
  while (root.parent !== null) root = root.parent;
  const { rawArgs } = root as Command & { rawArgs: string[] };
  const at = rawArgs.indexOf('--');
  const count = at === -1 ? 0 : rawArgs.length - at - 1;
  return { own: args.slice(0, args.length - count), following: args.slice(args.length - count) };
}

/** For commands that work on the data folder of a registry. */
export function withDataFolder(command: Command): Command {
  return command.option('--data <folder>', 'Data folder of the registry. Default: KRMHUB_DATA, else ./data.');
}

/** For commands of operators: where the registry is. */
export function withDatabase(command: Command): Command {
  return withDataFolder(command).option(
    '--database-url <url>',
    'PostgreSQL database. Default: KRMHUB_DATABASE_URL, else SQLite in the data folder.',
  );
}

export function withPlainHttp(command: Command): Command {
  return command.option(
    '--plain-http <host>',
    'Use HTTP without TLS for this registry. Local registries always use it.',
    collectList,
  );
}

/** For commands that take GROUP/KIND[@RELEASE] or an OCI reference. */
export function withArtifact(command: Command): Command {
  return withPlainHttp(
    command.option(
      '--registry <url>',
      'URL of the krmhub registry, for GROUP/KIND. Default: KRMHUB_REGISTRY, else that of `krmhub login`.',
    ),
  );
}

/** Parses `OS/ARCHITECTURE`, with the names of Go and the OCI image specification. */
export function parsePlatform(value: string): { os: string; architecture: string } {
  const [, os, architecture] = /^([a-z0-9]+)\/([a-z0-9]+)$/.exec(value) ?? [];
  if (os === undefined || architecture === undefined) {
    throw new InvalidArgumentError('Use OS/ARCHITECTURE, for example linux/amd64.');
  }
  return { os, architecture };
}

/** Collects an option that can be repeated; a value can be a comma-separated list. */
export function collectList(value: string, previous: readonly string[] | undefined): string[] {
  const items = value.split(',').map((item) => item.trim());
  if (items.includes('')) throw new InvalidArgumentError('The list contains an empty item.');
  return [...(previous ?? []), ...items];
}

/** Collects the platforms of executables: comma-separated lists of OS/ARCHITECTURE. */
export function collectPlatforms(value: string, previous: readonly Platform[] = []): Platform[] {
  const all = [...previous];
  for (const item of collectList(value, undefined)) {
    const [os, arch] = [
      OPERATING_SYSTEMS.find((one) => item.startsWith(`${one}/`)),
      ARCHITECTURES.find((one) => item.endsWith(`/${one}`)),
    ];
    if (os === undefined || arch === undefined || item !== `${os}/${arch}`) {
      const known = OPERATING_SYSTEMS.flatMap((one) => ARCHITECTURES.map((arch) => `${one}/${arch}`));
      throw new InvalidArgumentError(`Use a list of these: ${known.join(', ')}.`);
    }
    if (!all.some((one) => one.os === os && one.arch === arch)) all.push({ os, arch });
  }
  return all;
}

/** Collects an option that can be repeated; commas are part of the value. */
export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

/** Returns a parser of whole numbers from 1 to `max`. */
export function countUpTo(max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < 1 || number > max) {
      throw new InvalidArgumentError(`Use an integer from 1 to ${max}.`);
    }
    return number;
  };
}

/** Parses the serial of a snapshot. */
export function parseSerial(value: string): number {
  if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use the serial of a snapshot, for example 7.');
}

/** For commands that read a catalog: what a machine without an earlier verification can require. */
export function withSnapshotLimits(command: Command): Command {
  return command
    .option(
      '--min-serial <serial>',
      'Reject older snapshots. Rejects every catalog that is not pinned.',
      parseSerial,
    )
    .option(
      '--max-age <duration>',
      'Reject older signatures, for example 30d. Rejects every catalog that is not pinned.',
      parseDuration,
    );
}

/** Adds the argument `<name>` for the name of a catalog. */
export function withCatalogName(command: Command): Command {
  return command.argument('<name>', 'Name of the catalog.', parseCatalogName);
}

/** Parses a catalog name, for commander. */
export function parseCatalogName(name: string): string {
  if (isCatalogName(name)) return name;
  throw new InvalidArgumentError('Use lower-case letters, digits, and inner hyphens.');
}
