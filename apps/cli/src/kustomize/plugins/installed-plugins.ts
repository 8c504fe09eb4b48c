import { readdir, readFile, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { removeExecutable } from '../../run/stored-executables.js';
import { formatPlugin, type PluginName } from './plugin-folder.js';
import { formatRecord, type PluginRecord, RECORD_SUFFIX, readRecord, recordFile } from './plugin-record.js';

/** What is in the place of a plugin. */
export type PluginState =
  /** As krmhub wrote it. */
  | 'installed'
  /** The record is there, the plugin is not. */
  | 'missing'
  /** Changed since it was installed, or not from krmhub. */
  | 'foreign'
  /** The registry took down its script or release. */
  | 'taken down';

export interface InstalledPlugin {
  /** The file that kustomize runs. */
  file: string;
  record: PluginRecord;
  state: PluginState;
}

/** Returns the plugins of krmhub in a plugin folder, by name. Throws `invalid-document` for a damaged record. */
export async function installedPlugins(folder: string): Promise<InstalledPlugin[]> {
  const found: InstalledPlugin[] = [];
  for (const group of await subfolders(folder)) {
    for (const version of await subfolders(path.join(folder, group))) {
      for (const kind of await subfolders(path.join(folder, group, version))) {
        const place = path.join(folder, group, version, kind);
        const records = (await readdir(place)).filter((name) => name.endsWith(RECORD_SUFFIX));
        for (const name of records.sort()) {
          const file = path.join(place, name.slice(0, -RECORD_SUFFIX.length));
          const plugin = await findPlugin(file);
          if (plugin !== undefined) found.push(plugin);
        }
      }
    }
  }
  return found;
}

/** Returns the plugin of krmhub at a file; undefined if there is no record. */
export async function findPlugin(file: string): Promise<InstalledPlugin | undefined> {
  const record = await readRecord(file);
  if (record === undefined) return undefined;
  const digest = await hashFile(file);
  const state = digest === undefined ? 'missing' : digest === record.plugin ? 'installed' : 'foreign';
  return { file, record, state };
}

/** Throws `conflict` unless a plugin may be written: nothing is there, or what krmhub wrote. */
export async function requireOwn(file: string, name: PluginName): Promise<InstalledPlugin | undefined> {
  const plugin = await findPlugin(file);
  if (plugin === undefined ? (await hashFile(file)) === undefined : plugin.state !== 'foreign') return plugin;
  const what = plugin === undefined ? 'was not installed by krmhub' : 'changed after the installation';
  throw new KrmhubError('conflict', escapeControls(`cannot install ${formatPlugin(name)}: ${file} ${what}`), {
    hint: 'To replace the file, use --force.',
  });
}

/** Writes the record and then the plugin, so that a plugin that exists has its record. */
export async function writePlugin(file: string, record: PluginRecord, text: string): Promise<void> {
  const options = { overwrite: true, folderMode: 0o755 };
  await writeFileAtomically(recordFile(file), formatRecord(record), { ...options, mode: 0o644 });
  await writeFileAtomically(file, text, { ...options, mode: 0o755 });
}

/** Removes a plugin, its record, and the folders that only it was in. */
export async function deletePlugin(folder: string, plugin: InstalledPlugin): Promise<void> {
  const { file } = plugin;
  for (const one of plugin.state === 'missing' ? [recordFile(file)] : [file, recordFile(file)]) {
    await unlink(one).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw diskError(error, `cannot remove ${one}`);
    });
  }
  for (let at = path.dirname(file); at.startsWith(`${folder}${path.sep}`); at = path.dirname(at)) {
    const isGone = await rmdir(at).then(
      () => true,
      () => false,
    );
    // Something else is in it.
    if (!isGone) return;
  }
}

/** Removes from the cache the executables of pins that no plugin of the folder has any more. */
export async function removeUnusedExecutables(
  io: Io,
  folder: string,
  former: readonly PluginRecord[],
): Promise<void> {
  const used = new Set((await installedPlugins(folder)).flatMap(({ record }) => listDigests(record)));
  for (const pin of former.flatMap(({ pins }) => pins)) {
    if (pin.executable !== undefined && !used.has(pin.executable.digest))
      await removeExecutable(io, pin.executable);
  }
}

function listDigests({ pins }: PluginRecord): Digest[] {
  return pins.flatMap(({ executable }) => (executable === undefined ? [] : [executable.digest]));
}

/**
 * Returns the plugins that names select: `GROUP/VERSION/KIND`, or a kind that is installed once. Throws `not-found`.
 */
export function selectPlugins(
  plugins: readonly InstalledPlugin[],
  names: readonly string[],
  folder: string,
): InstalledPlugin[] {
  return names.map((name) => {
    const found = plugins.filter(({ record }) =>
      name.includes('/') ? formatPlugin(record.function) === name : record.function.kind === name,
    );
    if (found.length === 1) return found[0]!;
    if (found.length === 0) {
      throw new KrmhubError('not-found', escapeControls(`the plugin ${name} is not installed in ${folder}`), {
        hint: 'List the installed plugins: krmhub plugins list',
      });
    }
    const choices = found.map(({ record }) => formatPlugin(record.function)).join(', ');
    throw new KrmhubError('usage', escapeControls(`${name} matches ${found.length} plugins: ${choices}`), {
      hint: 'Write GROUP/VERSION/KIND.',
    });
  });
}

async function subfolders(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw diskError(error, `cannot read ${folder}`);
  }
}

async function hashFile(file: string): Promise<Digest | undefined> {
  try {
    return sha256(await readFile(file));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw diskError(error, `cannot read ${file}`);
  }
}
