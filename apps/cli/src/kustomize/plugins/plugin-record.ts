import { readFile } from 'node:fs/promises';
import { findRules, type PinnedRuntime, pinnedPrograms } from '@krmhub/catalog/runtimes/runtimes';
import { diskError } from '@krmhub/consume/files/read-file';
import type { ResolvedCatalog } from '@krmhub/consume/resolve/resolution';
import type { Engine, Sandbox } from '@krmhub/functions';
import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import { RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';

import type { RunPermissions } from '../../run/permissions.js';
import type { InstalledExecutable } from '../../run/prepared-function.js';
import type { PluginName } from './plugin-folder.js';

/**
 * The file beside a plugin: what it runs, and what the user decided when it was installed. The plugin itself reads it,
 * so it has everything that a run needs.
 */
export interface PluginRecord {
  apiVersion: typeof RECORD_VERSION;
  kind: typeof RECORD_KIND;
  function: PluginName;
  /** RFC 3339. */
  installedAt: string;
  /** The catalogs of the command line, in search order; files are absolute paths. */
  catalogs: string[];
  official?: string;
  /** The kind of runtime that the user asked for. */
  runtime?: RuntimeKind;
  /** What may run: the first, or where a kustomization has a krmhub.lock the one that it names. */
  pins: [PluginPin, ...PluginPin[]];
  permissions: RunPermissions;
  /** The container engine that pulled the image. */
  engine?: Pick<Engine, 'engine' | 'program'>;
  /** The sandbox that was found for executables. */
  sandbox?: Sandbox;
  /** Digest of the plugin file that was written. */
  plugin: Digest;
}

/** A resolved function whose runtime is on this machine. */
export interface PluginPin {
  catalog: ResolvedCatalog;
  release?: string;
  definition?: Digest;
  signedBy?: string;
  runtime: PinnedRuntime;
  /** What a functionConfig is checked with; absent where the schema is very large. */
  declared?: CheckedDefinition;
  /** Of a runtime of the type exec. */
  executable?: InstalledExecutable;
  /** It came from a lock file, so it does not replace a first one that was installed without it. */
  locked?: boolean;
}

const RECORD_VERSION = 'krmhub.dev/v1alpha1';
const RECORD_KIND = 'KustomizePlugin';
/** Bytes of a record. A runtime with every platform has two kilobytes, and most schemas have fewer than ten. */
const MAX_RECORD_BYTES = 16_777_216;
/** Bytes of one schema in a record: several pins have one each. */
export const MAX_SCHEMA_BYTES = 262_144;
/** Pins of one plugin: the newest stay. */
export const MAX_PINS = 50;

export function newRecord(fields: Omit<PluginRecord, 'apiVersion' | 'kind'>): PluginRecord {
  return { apiVersion: RECORD_VERSION, kind: RECORD_KIND, ...fields };
}

/** Returns the record's file for a plugin file. */
export function recordFile(plugin: string): string {
  return `${plugin}${RECORD_SUFFIX}`;
}

export const RECORD_SUFFIX = '.krmhub.json';

export function formatRecord(record: PluginRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}

/**
 * Reads the record beside a plugin; undefined if there is none. Throws `invalid-document` for a file that is not one.
 */
export async function readRecord(plugin: string): Promise<PluginRecord | undefined> {
  const file = recordFile(plugin);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw diskError(error, `cannot read ${file}`);
  }
  const record = text.length > MAX_RECORD_BYTES ? undefined : parseRecord(text);
  if (record !== undefined) return record;
  throw new KrmhubError('invalid-document', `${file} is not the record of a plugin`, {
    hint: 'Remove the file, and install the plugin again with --force.',
  });
}

/** The file is the user's own. This finds damaged files and those of later versions. */
function parseRecord(text: string): PluginRecord | undefined {
  try {
    const record = JSON.parse(text) as PluginRecord;
    const isWhole =
      record.apiVersion === RECORD_VERSION &&
      record.kind === RECORD_KIND &&
      typeof record.function.apiVersion === 'string' &&
      typeof record.function.kind === 'string' &&
      typeof record.plugin === 'string' &&
      Array.isArray(record.catalogs) &&
      record.pins.length > 0 &&
      record.pins.every(
        ({ runtime, catalog }) => isRuntime(runtime) && typeof catalog.reference === 'string',
      ) &&
      typeof record.permissions.allowExec === 'boolean' &&
      typeof record.permissions.network === 'boolean' &&
      Array.isArray(record.permissions.mounts);
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** The type of a later version has no rules. */
function isRuntime(runtime: PinnedRuntime): boolean {
  return RUNTIME_KINDS.includes(runtime.type) && findRules(runtime).isComplete(runtime);
}

/** Reports whether two pins run the same: the image, the script, or the executables of all platforms. */
export function isSameRuntime(a: PinnedRuntime, b: PinnedRuntime): boolean {
  return a.type === b.type && runtimeIdentity(a) === runtimeIdentity(b);
}

function runtimeIdentity(runtime: PinnedRuntime): string {
  const programs = pinnedPrograms(runtime).map(({ platform, bin, sha256 }) => `${platform} ${bin} ${sha256}`);
  return programs.sort().join('\n');
}
