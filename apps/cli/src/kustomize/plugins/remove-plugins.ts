import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine } from '../../io/print.js';
import {
  deletePlugin,
  installedPlugins,
  removeUnusedExecutables,
  selectPlugins,
} from './installed-plugins.js';
import { findPluginFolder, formatPlugin } from './plugin-folder.js';

export interface RemoveOptions {
  all?: boolean;
  force?: boolean;
  dir?: string;
  output: OutputFormat;
}

/** Removes plugins that krmhub installed, and nothing else. */
export async function removePlugins(io: Io, names: readonly string[], options: RemoveOptions): Promise<void> {
  const { all = false, force = false } = options;
  if ((names.length === 0) !== all) {
    throw new KrmhubError(
      'usage',
      all ? 'cannot combine names with --all' : 'the names of the plugins are missing',
      {
        hint: 'Use names from krmhub plugins list, or --all.',
      },
    );
  }
  const folder = await findPluginFolder(io, options.dir);
  const plugins = await installedPlugins(folder);
  const selected = all ? plugins : selectPlugins(plugins, names, folder);
  const changed = force ? undefined : selected.find(({ state }) => state === 'foreign');
  if (changed !== undefined) {
    throw new KrmhubError(
      'conflict',
      escapeControls(
        `cannot remove ${formatPlugin(changed.record.function)}: ${changed.file} changed after the installation`,
      ),
      { hint: 'To remove the file anyway, use --force.' },
    );
  }
  for (const plugin of selected) {
    await deletePlugin(folder, plugin);
    await printLine(io, escapeControls(`removed ${formatPlugin(plugin.record.function)}`));
  }
  await removeUnusedExecutables(
    io,
    folder,
    selected.map(({ record }) => record),
  );
  const removed = selected.map(({ record, file }) => ({ ...record.function, file }));
  await printData(io, options.output, { removed }, async () => undefined);
}
