import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import { isApiVersionName, isGroup, isKind } from '@krmhub/schema/gvk';

/** A function as kustomize looks for it. */
export interface PluginName {
  /** `GROUP/VERSION`. */
  apiVersion: string;
  kind: string;
}

/**
 * Returns the folder in which kustomize and kubectl look for plugins: KUSTOMIZE_PLUGIN_HOME, or else the first of these
 * that exists. Only that one is searched, so a new folder must not hide the plugins in an existing one.
 */
export async function findPluginFolder(io: Environment & WorkingFolder, given?: string): Promise<string> {
  const { KUSTOMIZE_PLUGIN_HOME: named = '', XDG_CONFIG_HOME: configuration = '', HOME } = io.env;
  if (given !== undefined) return path.resolve(io.cwd, given);
  if (named !== '') return path.resolve(io.cwd, named);
  const home = HOME === undefined || HOME === '' ? homedir() : HOME;
  const folders = [
    ...(path.isAbsolute(configuration) ? [path.join(configuration, 'kustomize/plugin')] : []),
    path.join(home, '.config/kustomize/plugin'),
    path.join(home, 'kustomize/plugin'),
  ];
  for (const folder of folders) {
    if ((await stat(folder).catch(() => undefined))?.isDirectory() === true) return folder;
  }
  return folders[0]!;
}

/** Returns the file that kustomize runs for a functionConfig. Throws `usage` for names that would leave the folder. */
export function pluginFile(folder: string, { apiVersion, kind }: PluginName): string {
  const slash = apiVersion.lastIndexOf('/');
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  if (!isGroup(group) || !isApiVersionName(version) || !isKind(kind)) {
    throw new KrmhubError('usage', `"${apiVersion} ${kind}" is not a plugin name`, {
      hint: 'Use GROUP/VERSION/KIND, for example example.com/v1/JavaApplication.',
    });
  }
  return path.join(folder, group, version, kind.toLowerCase(), kind);
}

/** Formats a plugin as commands take it, for example `example.com/v1/JavaApplication`. */
export function formatPlugin({ apiVersion, kind }: PluginName): string {
  return `${apiVersion}/${kind}`;
}

/** Returns the name of the plugin at a file, as `pluginFile` places it. */
export function pluginName(file: string): string {
  const [group = '', version = '', , kind = ''] = path.resolve(file).split(path.sep).slice(-4);
  return `${group}/${version}/${kind}`;
}
