import { type PinnedRuntime, pinnedPrograms } from '@krmhub/catalog/runtimes/runtimes';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import {
  catalogRegistries,
  type PinnedCode,
  refuseTakenDown,
  withTakedowns,
} from '@krmhub/consume/trust/takedowns';
import { defined } from '@krmhub/schema/defined';
import { isDigest } from '@krmhub/schema/digest';
import type { Io } from '../../io/io.js';
import { consumePorts } from '../../registry/consume-ports.js';
import { formatPlugin } from './plugin-folder.js';
import type { PluginPin, PluginRecord } from './plugin-record.js';

/** Takedowns of what is installed: an installed plugin runs without its catalog, which no longer has the function. */

/** Returns what a runtime pins by digest. */
export function runtimeCode(runtime: PinnedRuntime): PinnedCode[] {
  return pinnedPrograms(runtime).flatMap(({ uri, sha256, deletable }) =>
    isDigest(sha256) ? { sha256, ...defined({ reference: deletable === true ? uri : undefined }) } : [],
  );
}

/** Returns the registries that can have taken down what a plugin runs. */
export function pluginRegistries(
  io: Environment & WorkingFolder,
  { pins, catalogs, official }: PluginRecord,
): string[] {
  return catalogRegistries(
    io,
    [...pins.map(({ catalog }) => catalog.reference), official ?? [], catalogs].flat(),
  );
}

/** Throws `gone` if what a pin runs was taken down. Scripts of OCI registries are checked where they are read. */
export async function requirePluginStanding(
  io: Io,
  record: PluginRecord,
  { runtime }: PluginPin,
): Promise<void> {
  const codes = runtimeCode(runtime);
  const registries = pluginRegistries(io, record);
  await withTakedowns(consumePorts(io), (cache) =>
    refuseTakenDown(consumePorts(io), cache, formatPlugin(record.function), { codes, registries }),
  );
}
