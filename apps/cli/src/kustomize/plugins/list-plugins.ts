import {
  catalogRelease,
  findReleaseTakedown,
  findTakedown,
  withTakedowns,
} from '@krmhub/consume/trust/takedowns';
import { escapeControls } from '@krmhub/schema/text';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printLine, printWarning } from '../../io/print.js';
import { consumePorts } from '../../registry/consume-ports.js';
import { type InstalledPlugin, installedPlugins } from './installed-plugins.js';
import { findPluginFolder, formatPlugin } from './plugin-folder.js';
import { pluginRegistries, runtimeCode } from './plugin-takedown.js';
import { printPlugins } from './print-plugins.js';

/** Prints the plugins that krmhub installed. */
export async function listPlugins(io: Io, options: { dir?: string; output: OutputFormat }): Promise<void> {
  const folder = await findPluginFolder(io, options.dir);
  const installed = await installedPlugins(folder);
  const takedowns = await findTakedowns(io, installed);
  const plugins = installed.map((plugin) =>
    takedowns.has(plugin) ? { ...plugin, state: 'taken down' as const } : plugin,
  );
  await printPlugins(io, options.output, folder, plugins);
  for (const [{ record }, { reason, isRefused }] of takedowns) {
    const what = isRefused ? 'does not run' : 'is of a release that was taken down';
    await printWarning(io, escapeControls(`${formatPlugin(record.function)} ${what}: ${reason}`));
    io.exitCode = FINDINGS;
  }
  if (takedowns.size > 0) await printLine(io, '  hint: Run: krmhub plugins update');
  if (plugins.length === 0) await printLine(io, escapeControls(`no plugins are installed in ${folder}`));
}

interface PluginTakedown {
  reason: string;
  /** Other releases can use the same image or executable. */
  isRefused: boolean;
}

/** Returns the plugins whose first pin was taken down. */
async function findTakedowns(
  io: Io,
  plugins: readonly InstalledPlugin[],
): Promise<Map<InstalledPlugin, PluginTakedown>> {
  const found = new Map<InstalledPlugin, PluginTakedown>();
  if (plugins.length === 0) return found;
  await withTakedowns(consumePorts(io), async (cache) => {
    for (const plugin of plugins) {
      const { function: name, pins } = plugin.record;
      const { runtime, release, catalog } = pins[0];
      const refused = await findTakedown(
        consumePorts(io),
        cache,
        runtimeCode(runtime),
        pluginRegistries(io, plugin.record),
      );
      if (refused !== undefined) {
        found.set(plugin, { reason: refused, isRefused: true });
        continue;
      }
      const from =
        release === undefined ? undefined : catalogRelease(io, catalog.reference, { ...name, release });
      const reason = from && (await findReleaseTakedown(consumePorts(io), cache, from));
      if (reason !== undefined) found.set(plugin, { reason, isRefused: false });
    }
  });
  return found;
}
