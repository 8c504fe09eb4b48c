/**
 * Installs, updates, removes, and runs plugins of kustomize for functions of catalogs.
 *
 * A plugin is a script with a record beside it. The record has everything that a run needs, so a run reads no catalog.
 *
 * @module
 */

import path from 'node:path';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { ListedKind, Resolver, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { isGroup } from '@krmhub/schema/gvk';
import { escapeControls } from '@krmhub/schema/text';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printLine } from '../../io/print.js';
import { openLock, packageSettings } from '../../lock/open-lock.js';
import { consumePorts } from '../../registry/consume-ports.js';

import type { RunPermissions } from '../../run/permissions.js';
import { Runner } from '../../run/runner.js';
import { findPlugin, type InstalledPlugin, requireOwn, writePlugin } from './installed-plugins.js';
import { findPluginFolder, formatPlugin, type PluginName, pluginFile } from './plugin-folder.js';
import {
  type PluginSource,
  type PreparedPlugin,
  pluginSource,
  preparedPlugin,
  preparePin,
} from './prepare-plugin.js';
import { printPlugins } from './print-plugins.js';
import { pluginProgram } from './program.js';

export interface InstallRequest {
  search: ResolverOptions;
  permissions: RunPermissions;
  /** Kinds as the user names them; all of the catalogs by default. */
  kinds?: readonly string[];
  /** `--lock` and `--frozen`. */
  lock: { file?: string; frozen: boolean };
  force: boolean;
  dir?: string;
  output: OutputFormat;
}

const MAX_INVALID_LINES = 20;

/** Installs a plugin for each kind of the catalogs, or for the named ones. */
export async function installPlugins(io: Io, request: InstallRequest): Promise<void> {
  const { search, permissions, kinds, output } = request;
  const source = pluginSource(io, search);
  if (source.catalogs.length === 0 && source.official === undefined) {
    throw new KrmhubError('usage', 'cannot install plugins: no catalog is set', {
      hint: 'Set one, for example: krmhub plugins install -c catalog.yaml',
    });
  }
  const folder = await findPluginFolder(io, request.dir);
  const { file: lockFile, frozen } = request.lock;
  // Only a lock file that was named: plugins are for all kustomizations, not for the one in this folder.
  const lock =
    lockFile === undefined
      ? undefined
      : await openLock(io, { folder: path.dirname(lockFile), lock: lockFile, frozen });
  const settings = lockFile === undefined ? undefined : await packageSettings(io, path.dirname(lockFile));
  const resolver = await openResolver(consumePorts(io), {
    ...search,
    ...source,
    ...settings,
    ...defined({ lock }),
  });
  const runner = new Runner(io, permissions, { offline: search.offline });
  try {
    const invalid: KrmhubError[] = [];
    const names = await namesToInstall(resolver, kinds, (error) => invalid.push(error)).finally(() =>
      printInvalid(io, invalid),
    );
    const prepared: { file: string; plugin: PreparedPlugin }[] = [];
    const failures: Failure[] = [];
    for (const name of names) {
      try {
        const file = pluginFile(folder, name);
        prepared.push({
          file,
          plugin: await preparePlugin(io, { ...request, file, name, source, resolver, runner }),
        });
      } catch (error) {
        // Of all kinds of a catalog, some may not run here. Who names a kind wants it, or nothing.
        if (kinds !== undefined || !(error instanceof KrmhubError) || names.length === 1) throw error;
        failures.push({ name, error });
      }
    }
    await printFailures(io, failures);
    const [first] = [...failures.map(({ error }) => error), ...invalid];
    if (prepared.length === 0 && first !== undefined) {
      const count = failures.length + invalid.length;
      throw new KrmhubError(first.code, `installed none of ${count} plugins`, {
        hint: 'Fix the errors above, or select other kinds with --kind.',
      });
    }
    if (prepared.length === 0) {
      const given = [source.official ?? [], source.catalogs].flat();
      throw new KrmhubError('not-found', escapeControls(`no functions in ${given.join(', ')}`), {
        hint: 'Select another catalog with -c.',
      });
    }
    for (const { file, plugin } of prepared) await writePlugin(file, plugin.record, plugin.text);
    const installed = await Promise.all(prepared.map(({ file }) => findPlugin(file)));
    await printPlugins(
      io,
      output,
      folder,
      installed.filter((one): one is InstalledPlugin => one !== undefined),
    );
    await printSummary(io, folder, prepared.length, names.length);
    if (first !== undefined) io.exitCode = FINDINGS;
  } finally {
    await runner.close();
    await resolver.close();
  }
}

async function preparePlugin(
  io: Io,
  options: InstallRequest & {
    file: string;
    name: PluginName;
    source: PluginSource;
    resolver: Resolver;
    runner: Runner;
  },
): Promise<PreparedPlugin> {
  const { file, name, source, resolver, runner, permissions, force, lock } = options;
  const earlier = force ? undefined : await requireOwn(file, name);
  const { pin, tools } = await preparePin(io, runner, await resolver.resolve({ ...name, catalogs: [] }));
  const [first] = earlier?.record.pins ?? [];
  if (first !== undefined && first.catalog.reference !== pin.catalog.reference) {
    throw new KrmhubError(
      'conflict',
      escapeControls(
        `cannot install ${formatPlugin(name)}: it is already installed from ${first.catalog.reference}`,
      ),
      { hint: 'To replace it, use --force.' },
    );
  }
  return preparedPlugin({
    name,
    source,
    pin: lock.file === undefined ? pin : { ...pin, locked: true },
    tools,
    permissions,
    program: pluginProgram(),
    now: io.now(),
    earlier: earlier?.record,
  });
}

/** Returns the kinds to install. Names are kinds, `GROUP/KIND` or `GROUP/VERSION/KIND`. Throws `not-found`. */
async function namesToInstall(
  resolver: Resolver,
  kinds: readonly string[] | undefined,
  onInvalid: (error: KrmhubError) => void,
): Promise<PluginName[]> {
  if (kinds === undefined) return (await resolver.list(onInvalid)).map(pickName);
  const full = kinds.map(fullName);
  if (full.every((one): one is PluginName => one !== undefined)) return full;
  const invalid: KrmhubError[] = [];
  const listed = await resolver.list((error) => invalid.push(error));
  const found = kinds.flatMap((kind) => {
    const matching = listed.filter((one) => isNamed(one, kind));
    if (matching.length > 0) return matching.map(pickName);
    // Its entry may be among those that cannot be used.
    for (const error of invalid) onInvalid(error);
    throw new KrmhubError('not-found', escapeControls(`no catalog has the kind ${kind}`), {
      hint: 'Use KIND, GROUP/KIND, or GROUP/VERSION/KIND of a function in the catalogs.',
    });
  });
  return [...new Map(found.map((name) => [formatPlugin(name), name])).values()];
}

function fullName(text: string): PluginName | undefined {
  const [group = '', version, kind, ...more] = text.split('/');
  if (version === undefined || kind === undefined || more.length > 0) return undefined;
  return { apiVersion: `${group}/${version}`, kind };
}

function isNamed({ apiVersion, kind }: ListedKind, text: string): boolean {
  const parts = text.split('/');
  if (parts.at(-1) !== kind) return false;
  if (parts.length === 1) return true;
  const [group, version] = apiVersion.split('/');
  return parts[0] === group && (parts.length === 2 ? isGroup(parts[0] ?? '') : parts[1] === version);
}

function pickName({ apiVersion, kind }: PluginName): PluginName {
  return { apiVersion, kind };
}

interface Failure {
  name: PluginName;
  error: KrmhubError;
}

/** One line for each, then what to do about all: most of a catalog fail for the same reason. */
async function printFailures(io: Io, failures: readonly Failure[]): Promise<void> {
  for (const { name, error } of failures) {
    const reason = error.message.replace(`cannot run ${name.apiVersion} ${name.kind}: `, '');
    await printLine(io, escapeControls(`not installed: ${formatPlugin(name)}: ${reason}`));
  }
  for (const hint of new Set(failures.map(({ error }) => error.hint))) {
    if (hint !== undefined) await printLine(io, escapeControls(`  hint: ${hint}`));
  }
}

/** Entries of a catalog that cannot be used, of which a hostile one has many. */
async function printInvalid(io: Io, invalid: readonly KrmhubError[]): Promise<void> {
  const shown = invalid.slice(0, MAX_INVALID_LINES);
  for (const { message } of shown) await printLine(io, escapeControls(`not installed: ${message}`));
  if (invalid.length > shown.length) {
    await printLine(io, `not installed: ${invalid.length - shown.length} more entries that are not valid`);
  }
}

async function printSummary(io: Io, folder: string, count: number, all: number): Promise<void> {
  const of = count === all ? '' : ` of ${all}`;
  await printLine(
    io,
    escapeControls(`installed ${count}${of} ${count === 1 && of === '' ? 'plugin' : 'plugins'} in ${folder}`),
  );
  const found = await findPluginFolder(io);
  if (found === folder) return;
  await printLine(
    io,
    escapeControls(
      `kustomize reads plugins from ${found}; to use this folder, set KUSTOMIZE_PLUGIN_HOME=${folder}`,
    ),
  );
}
