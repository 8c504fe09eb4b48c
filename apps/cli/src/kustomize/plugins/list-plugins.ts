import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printLine, printWarning } from '../../io/print.js';
import { escapeControls } from '../../io/text.js';
import { type PinnedScript, scriptTakedowns } from '../../run/script-takedown.js';
import { type InstalledPlugin, installedPlugins } from './installed-plugins.js';
import { findPluginFolder, formatPlugin } from './plugin-folder.js';
import { printPlugins } from './print-plugins.js';

/** Prints the plugins that krmhub installed. */
export async function listPlugins(io: Io, options: { dir?: string; output: OutputFormat }): Promise<void> {
  const folder = await findPluginFolder(io, options.dir);
  const installed = await installedPlugins(folder);
  const takedowns = await scriptTakedowns(io, installed.flatMap(scriptsOf));
  const reasonOf = (plugin: InstalledPlugin) =>
    scriptsOf(plugin).flatMap(({ sha256 }) => takedowns.get(sha256) ?? [])[0];
  const plugins = installed.map((plugin) =>
    reasonOf(plugin) === undefined ? plugin : { ...plugin, state: 'taken down' as const },
  );
  await printPlugins(io, options.output, folder, plugins);
  for (const plugin of installed) {
    const reason = reasonOf(plugin);
    if (reason === undefined) continue;
    await printWarning(io, escapeControls(`${formatPlugin(plugin.record.function)} does not run: ${reason}`));
    io.exitCode = FINDINGS;
  }
  if (takedowns.size > 0) await printLine(io, '  hint: Run: krmhub plugins update');
  if (plugins.length === 0) await printLine(io, escapeControls(`no plugins are installed in ${folder}`));
}

/** The script that a plugin runs first. */
function scriptsOf({ record }: InstalledPlugin): PinnedScript[] {
  const { runtime } = record.pins[0];
  return runtime.type === 'starlark' ? [runtime] : [];
}
