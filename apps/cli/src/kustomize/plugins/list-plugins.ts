import type { Io } from '../../io/io.js';
import { type OutputFormat, printLine } from '../../io/print.js';
import { escapeControls } from '../../io/text.js';
import { installedPlugins } from './installed-plugins.js';
import { findPluginFolder } from './plugin-folder.js';
import { printPlugins } from './print-plugins.js';

/** Prints the plugins that krmhub installed. */
export async function listPlugins(io: Io, options: { dir?: string; output: OutputFormat }): Promise<void> {
  const folder = await findPluginFolder(io, options.dir);
  const plugins = await installedPlugins(folder);
  await printPlugins(io, options.output, folder, plugins);
  if (plugins.length === 0) await printLine(io, escapeControls(`no plugins are installed in ${folder}`));
}
