import { pinnedPrograms } from '@krmhub/catalog/runtimes/runtimes';
import { RUNTIMES } from '@krmhub/schema/definition';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printTable } from '../../io/print.js';
import type { InstalledPlugin } from './installed-plugins.js';
import { formatPlugin } from './plugin-folder.js';
import type { PluginPin, PluginRecord } from './plugin-record.js';

const COLUMNS = [
  { header: 'PLUGIN', min: 20 },
  { header: 'RELEASE' },
  { header: 'RUNS', min: 16 },
  { header: 'ALLOWED' },
  { header: 'STATE' },
];

/** Prints plugins with what they run and what the user allowed. A terminal has no room for the catalog. */
export async function printPlugins(
  io: Io,
  format: OutputFormat,
  folder: string,
  plugins: readonly InstalledPlugin[],
): Promise<void> {
  const terminal = ({ record, state }: InstalledPlugin): string[] => [
    formatPlugin(record.function),
    record.pins[0].release ?? 'unknown',
    runtimeText(record.pins[0]),
    permissionText(record),
    state,
  ];
  const pipe = (plugin: InstalledPlugin): string[] => [
    ...terminal(plugin),
    plugin.record.pins[0].catalog.reference,
  ];
  const data = plugins.map(({ file, record, state }) => {
    const { apiVersion: _, kind: __, plugin: ___, ...fields } = record;
    return { file, state, ...fields };
  });
  await printData(io, format, { folder, plugins: data }, () =>
    printTable(io, COLUMNS, plugins, { terminal, pipe }),
  );
}

/** Names what runs, by its digest. */
export function runtimeText({ runtime, executable }: PluginPin): string {
  const [program] = pinnedPrograms(runtime);
  if (program === undefined || program.platform !== undefined) {
    return executable === undefined ? 'an executable' : `${executable.bin}@${executable.digest}`;
  }
  const { uri, sha256 } = program;
  return uri.includes('@') ? uri : `${uri}@${sha256}`;
}

export function permissionText({ permissions, pins: [pin] }: PluginRecord): string {
  const { runtime } = pin;
  if (runtime.type !== 'container') return RUNTIMES[runtime.type].access === 'user' ? 'exec' : 'nothing';
  const parts = [
    ...(runtime.network && permissions.network ? ['network'] : []),
    ...(runtime.storage ? permissions.mounts.map((mount) => `mount ${mount}`) : []),
  ];
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}
