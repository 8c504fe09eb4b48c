import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, Resolver } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { confirm } from '../../io/confirm.js';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine } from '../../io/print.js';
import { consumePorts } from '../../registry/consume-ports.js';

import type { RunPermissions } from '../../run/permissions.js';
import { Runner } from '../../run/runner.js';
import { describeUpdate } from './describe-update.js';
import {
  type InstalledPlugin,
  installedPlugins,
  removeUnusedExecutables,
  requireOwn,
  selectPlugins,
  writePlugin,
} from './installed-plugins.js';
import { findPluginFolder, formatPlugin, type PluginName } from './plugin-folder.js';
import { preparedPlugin, preparePin } from './prepare-plugin.js';
import { pluginProgram } from './program.js';

export interface UpdateOptions {
  /** What the user allows besides what was allowed at the installation. */
  permissions: RunPermissions;
  dryRun?: boolean;
  yes?: boolean;
  offline?: boolean;
  dir?: string;
  output: OutputFormat;
}

interface Outcome {
  function: PluginName;
  /** `outdated` is for a dry run. */
  outcome: 'updated' | 'unchanged' | 'outdated' | 'failed';
  changes: string[];
  /** Why the plugin stays as it is. */
  error?: string;
}

interface Update {
  plugin: InstalledPlugin;
  resolution: Resolution;
  changes: string[];
}

/**
 * Updates plugins to what their catalogs have now. Prints the changes, and asks at a terminal, before it makes them.
 */
export async function updatePlugins(io: Io, names: readonly string[], options: UpdateOptions): Promise<void> {
  const folder = await findPluginFolder(io, options.dir);
  const plugins = await installedPlugins(folder);
  const selected = names.length === 0 ? plugins : selectPlugins(plugins, names, folder);
  const { updates, failed } = await planUpdates(io, selected, options);
  if (failed.length > 0) io.exitCode = FINDINGS;
  const changed = updates.filter(({ changes }) => changes.length > 0);
  for (const { plugin, changes } of changed) {
    await printLine(io, escapeControls(`${formatPlugin(plugin.record.function)}:`));
    for (const change of changes) await printLine(io, escapeControls(`  ${change}`));
  }
  const isAsked =
    changed.length > 0 && options.yes !== true && options.dryRun !== true && io.stdin.isTTY === true;
  if (isAsked && !(await confirm(io, 'Update these plugins?'))) {
    throw new KrmhubError('usage', 'cannot update the plugins: not confirmed', {
      hint: 'Nothing was changed. Answer y, or use --yes.',
    });
  }
  const report = (outcomes: readonly Outcome[]) =>
    printData(io, options.output, { folder, plugins: [...outcomes, ...failed] }, async () => undefined);
  if (options.dryRun === true) {
    await printLine(io, `would update ${changed.length} of ${selected.length} plugins`);
    return report(updates.map((update) => describeOutcome(update, 'outdated')));
  }
  const outcomes: Outcome[] = [];
  for (const update of updates) {
    try {
      await applyUpdate(io, update, options);
      outcomes.push(describeOutcome(update, 'updated'));
    } catch (error) {
      outcomes.push(await reportFailure(io, update.plugin, error));
      io.exitCode = FINDINGS;
    }
  }
  await removeUnusedExecutables(
    io,
    folder,
    updates.map(({ plugin }) => plugin.record),
  );
  const updated = outcomes.filter(({ outcome }) => outcome === 'updated').length;
  await printLine(io, `updated ${updated} of ${selected.length} plugins`);
  await report(outcomes);
}

function describeOutcome({ plugin, changes }: Update, changed: 'updated' | 'outdated'): Outcome {
  return {
    function: plugin.record.function,
    outcome: changes.length > 0 ? changed : 'unchanged',
    changes,
  };
}

/** Prints why a plugin stays as it is. Throws what is a defect of krmhub. */
async function reportFailure(io: Io, { record }: InstalledPlugin, error: unknown): Promise<Outcome> {
  if (!(error instanceof KrmhubError)) throw error;
  const { message, hint } = error;
  await printLine(io, escapeControls(`not updated: ${formatPlugin(record.function)}: ${message}`));
  if (hint !== undefined) await printLine(io, escapeControls(`  hint: ${hint}`));
  return { function: record.function, outcome: 'failed', changes: [], error: message };
}

/** Resolves the plugins again, with the catalogs that they were installed from. */
async function planUpdates(
  io: Io,
  plugins: readonly InstalledPlugin[],
  { offline = false }: UpdateOptions,
): Promise<{ updates: Update[]; failed: Outcome[] }> {
  const resolvers = new Map<string, Resolver>();
  const updates: Update[] = [];
  const failed: Outcome[] = [];
  try {
    for (const plugin of plugins) {
      const { catalogs, official, runtime, function: name } = plugin.record;
      const key = JSON.stringify([catalogs, official, runtime]);
      try {
        const resolver =
          resolvers.get(key) ??
          (await openResolver(consumePorts(io), {
            catalogs,
            trustedCatalogs: [],
            offline,
            ...defined({ official, runtime }),
          }));
        resolvers.set(key, resolver);
        const resolution = await resolver.resolve({ ...name, catalogs: [] });
        updates.push({ plugin, resolution, changes: describeUpdate(plugin.record.pins[0], resolution) });
      } catch (error) {
        failed.push(await reportFailure(io, plugin, error));
      }
    }
  } finally {
    for (const resolver of resolvers.values()) await resolver.close();
  }
  return { updates, failed };
}

async function applyUpdate(io: Io, { plugin, resolution }: Update, options: UpdateOptions): Promise<void> {
  const { record, file } = plugin;
  const { catalogs, official, runtime, function: name } = record;
  await requireOwn(file, name);
  const permissions = joinedPermissions(record.permissions, options.permissions);
  const runner = new Runner(io, permissions, { offline: options.offline === true });
  try {
    const { pin, tools } = await preparePin(io, runner, resolution);
    const source = {
      catalogs,
      ...defined({ official, runtime }),
    };
    const updated = preparedPlugin({
      name,
      source,
      pin,
      tools,
      permissions,
      program: pluginProgram(),
      now: io.now(),
      earlier: record,
    });
    await writePlugin(file, updated.record, updated.text);
  } finally {
    await runner.close();
  }
}

function joinedPermissions(earlier: RunPermissions, more: RunPermissions): RunPermissions {
  return {
    ...earlier,
    ...more,
    allowExec: earlier.allowExec || more.allowExec,
    network: earlier.network || more.network,
    mounts: more.mounts.length > 0 ? more.mounts : earlier.mounts,
  };
}
