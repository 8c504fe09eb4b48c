import path from 'node:path';
import { readSourceAddress } from '@krmhub/catalog';
import { isCatalogName } from '@krmhub/consume/references/catalog-name';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { checkedVersion } from '@krmhub/consume/resolve/checked-version';
import { isPinned, type Resolution, type ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { printWarning } from '../../io/print.js';
import { sizeText } from '../../io/size-text.js';

import type { RunPermissions } from '../../run/permissions.js';
import type { KnownTools } from '../../run/prepared-function.js';
import type { Runner } from '../../run/runner.js';
import { formatPlugin, type PluginName } from './plugin-folder.js';
import {
  isSameRuntime,
  MAX_PINS,
  MAX_SCHEMA_BYTES,
  newRecord,
  type PluginPin,
  type PluginRecord,
} from './plugin-record.js';
import type { PluginProgram } from './plugin-text.js';
import { pluginText } from './plugin-text.js';

/** What is written for a plugin. */
export interface PreparedPlugin {
  record: PluginRecord;
  text: string;
}

/** Where plugins come from, as the record has it: without anything that depends on the current folder. */
export type PluginSource = Pick<PluginRecord, 'catalogs' | 'official' | 'runtime'>;

/** Returns the source for the options of a command. */
export function pluginSource(io: Io, options: ResolverOptions): PluginSource {
  const { catalogs, official, runtime } = options;
  return {
    catalogs: catalogs.map((text) => absoluteCatalog(io, text)),
    ...defined({ official: official === undefined ? undefined : absoluteCatalog(io, official), runtime }),
  };
}

/** Names a file by its absolute path, and a catalog of the configured registry by its URL. */
function absoluteCatalog(io: Io, text: string): string {
  if (path.isAbsolute(text)) return text;
  const [, plain = text, digest = ''] = /^(.*)(@sha256:[a-f0-9]{64})$/.exec(text) ?? [];
  if (isCatalogName(plain)) {
    return `${registryUrl(io, undefined).replace(/\/+$/, '')}/catalogs/${plain}${digest}`;
  }
  const read = readSourceAddress(plain);
  return read.ok && read.address.type === 'file'
    ? `${path.resolve(io.cwd, read.address.path)}${digest}`
    : text;
}

/** Puts what a function runs on this machine, and returns its pin. Prints the warnings of the resolution. */
export async function preparePin(
  io: Io,
  runner: Runner,
  resolution: Resolution,
): Promise<{ pin: PluginPin; tools: KnownTools }> {
  const { apiVersion, kind, catalog, runtime, release, definition, signedBy } = resolution;
  const name = formatPlugin({ apiVersion, kind });
  const prepared = await runner.entry(resolution);
  if (catalog === undefined || !isPinned(runtime)) {
    throw new KrmhubError('unsupported', `cannot install ${name}: it is not from a catalog`);
  }
  await prepared.store();
  for (const warning of resolution.warnings) await printWarning(io, escapeControls(`${name}: ${warning}`));
  const { executable, tools } = prepared;
  const declared = declaredVersion(resolution);
  if (declared === 'too large') {
    const size = sizeText(MAX_SCHEMA_BYTES);
    const message = `the plugin does not check functionConfigs, because the schema is larger than ${size}`;
    await printWarning(io, escapeControls(`${name}: ${message}; krmhub build checks them`));
  }
  return {
    pin: {
      catalog,
      ...defined({ release, definition, signedBy }),
      runtime,
      ...defined({ declared: typeof declared === 'object' ? declared : undefined, executable }),
    },
    tools,
  };
}

/** What functionConfigs are checked with; undefined if the locked definition is not available. */
function declaredVersion({
  apiVersion,
  entry,
  declared = entry,
}: Resolution): PluginPin['declared'] | 'too large' {
  const checked = declared && checkedVersion(declared, apiVersion);
  return JSON.stringify(checked ?? {}).length > MAX_SCHEMA_BYTES ? 'too large' : checked;
}

/** Returns the record and the text of a plugin. `earlier` is what is installed. */
export function preparedPlugin(options: {
  name: PluginName;
  source: PluginSource;
  pin: PluginPin;
  tools: KnownTools;
  permissions: RunPermissions;
  program: PluginProgram;
  now: Date;
  earlier?: PluginRecord | undefined;
}): PreparedPlugin {
  const { name, source, pin, tools, permissions, program, now, earlier } = options;
  const text = pluginText(name, program);
  const record = newRecord({
    function: name,
    installedAt: now.toISOString(),
    ...source,
    pins: mergedPins(pin, earlier?.pins ?? []),
    permissions,
    ...tools,
    plugin: sha256(text),
  });
  return { record, text };
}

/**
 * A pin of a lock file is added to the others, so that kustomizations with different locks work on one machine. Any
 * other replaces the first.
 */
function mergedPins(pin: PluginPin, earlier: readonly PluginPin[]): [PluginPin, ...PluginPin[]] {
  const others = earlier.filter((one) => !isSameRuntime(one.runtime, pin.runtime));
  const locked = others.filter((one) => one.locked === true);
  const [first] = earlier;
  if (pin.locked !== true || first === undefined || isSameRuntime(first.runtime, pin.runtime)) {
    return [pin, ...locked.slice(0, MAX_PINS - 1)];
  }
  return [first, pin, ...locked.filter((one) => one !== first).slice(0, MAX_PINS - 2)];
}
