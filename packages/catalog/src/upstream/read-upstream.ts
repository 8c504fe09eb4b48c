import type { CompletedEntry, Digest, FunctionDefinition } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
// Imports single modules, because separate processes read upstream catalogs and load everything that is imported here.
import { runtimeKinds } from '@krmhub/schema/definition';
import { compareApiVersions } from '@krmhub/schema/gvk';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { readFormatted } from '@krmhub/schema/lint/read-formatted';
import { readCatalog } from '@krmhub/schema/read-catalog';
import type { RenderedEntry } from '../ports/records.js';
import type { InvalidEntry, UpstreamEntry, VersionFacts } from '../ports/source-records.js';
import { renderEntry } from '../render/render.js';
import { unpinnedReferences } from '../render/unpinned-references.js';
import { declaredPrograms } from '../runtimes/runtimes.js';
import type { Reading } from './reading.js';

/** Limits on upstream catalogs, with their units. */
export const UPSTREAM_LIMITS = {
  /** Entries of one upstream catalog. */
  maxEntries: 20_000,
  /**
   * Size of all entries in normal form, as YAML and JSON: twice the size of a catalog. YAML with deep nesting can be a
   * hundred times as large.
   */
  maxStoredBytes: 2 * DOCUMENT_LIMITS.maxCatalogBytes,
  /** API versions of one entry. */
  maxVersions: 50,
  /** API versions of all entries. A report has a line for each rejected API version. */
  maxAllVersions: 60_000,
  /** Invalid or completed entries that a report lists. Further entries are only counted. */
  maxInvalidReported: 100,
  /** Length of the message for each of these entries, in UTF-16 code units. */
  maxMessageLength: 500,
} as const;

export interface ReadEntry {
  definition: FunctionDefinition;
  rendered: RenderedEntry;
  /** The facts for selectors and policies. */
  facts: Omit<UpstreamEntry, 'firstSeen' | 'goneAt'>;
}

/** What the limits on whole catalogs count. */
export interface ReadTotals {
  /** API versions of all entries. */
  versions: number;
  /** Size of all entries in normal form, in bytes. */
  storedBytes: number;
}

export interface ReadUpstream {
  /** In catalog order, one entry per function. */
  entries: ReadEntry[];
  /** The first invalid entries. */
  invalid: InvalidEntry[];
  invalidEntries: number;
  /** The first completed entries, and the number of all. Absent if there are none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
}

export interface CountedUpstream extends ReadUpstream {
  totals: ReadTotals;
}

/**
 * Reads an upstream catalog. Invalid entries do not affect others. If two entries have the same function, the second
 * adds API versions that the first does not have (KEP-2906: the first is selected). `problem` is the reason if there is
 * no catalog. With defaults, it completes entries, and with a format, it converts files. Never throws, whatever the
 * bytes contain.
 */
export function readUpstreamCatalog(
  bytes: Uint8Array,
  file: string,
  reading: Reading = {},
): ReadUpstream | { problem: string } {
  const read = readUpstreamWithTotals(bytes, file, reading);
  if ('problem' in read) return read;
  const { totals: _, ...upstream } = read;
  return upstream;
}

/** Reads an upstream catalog, with what the next read needs to parse only the changed entries. */
export function readUpstreamWithTotals(
  bytes: Uint8Array,
  file: string,
  { format, defaults, ...reading }: Reading = {},
): CountedUpstream | { problem: string } {
  const { maxEntries, maxInvalidReported, maxMessageLength } = UPSTREAM_LIMITS;
  const completing = defaults === undefined ? {} : { defaults };
  const read =
    format === undefined
      ? readCatalog(bytes, file, { ...completing, maxEntries })
      : readFormatted(bytes, file, { format, ...completing, ...reading });
  if ('problem' in read) return read;
  if (read.entries.length > maxEntries) {
    return { problem: `it has ${read.entries.length} entries; the limit is ${maxEntries}` };
  }
  const found = new Map<string, { at: number; definition: FunctionDefinition }>();
  const invalid: InvalidEntry[] = [];
  let invalidEntries = 0;
  const completed: CompletedEntry[] = [];
  let completedEntries = 0;
  const refuse = (entry: number, message: string, name: { group?: string; kind?: string }): void => {
    invalidEntries += 1;
    if (invalid.length < maxInvalidReported)
      invalid.push({ entry, ...name, message: message.slice(0, maxMessageLength) });
  };
  for (const [at, entry] of read.entries.entries()) {
    if ('problem' in entry) {
      const { problem, ...name } = entry;
      refuse(at, problem, name);
      continue;
    }
    const { definition, completed: fields } = entry;
    const name = { group: definition.group, kind: definition.names.kind };
    const key = `${name.group}/${name.kind.toLowerCase()}`;
    const earlier = found.get(key);
    const merged = earlier === undefined ? definition : mergeVersions(earlier.definition, definition);
    if (typeof merged === 'string') refuse(at, `${merged} entry ${earlier!.at}`, name);
    else if (merged.versions.length > UPSTREAM_LIMITS.maxVersions) {
      refuse(at, `it has more than ${UPSTREAM_LIMITS.maxVersions} API versions`, name);
    } else {
      found.set(key, { at: earlier?.at ?? at, definition: merged });
      if (fields === undefined) continue;
      completedEntries += 1;
      if (completed.length < maxInvalidReported) completed.push({ entry: at, ...name, fields });
    }
  }
  const entries: ReadEntry[] = [];
  const versions = [...found.values()].reduce((sum, { definition }) => sum + definition.versions.length, 0);
  if (versions > UPSTREAM_LIMITS.maxAllVersions) {
    return {
      problem: `its entries have ${versions} API versions; the limit is ${UPSTREAM_LIMITS.maxAllVersions}`,
    };
  }
  let storedBytes = 0;
  for (const { at, definition } of found.values()) {
    const made = readEntry(definition);
    if (typeof made === 'string') {
      refuse(at, made, { group: definition.group, kind: definition.names.kind });
      continue;
    }
    for (const kept of [made.rendered.yaml, made.rendered.json, JSON.stringify(made.facts)]) {
      storedBytes += Buffer.byteLength(kept);
    }
    if (storedBytes > UPSTREAM_LIMITS.maxStoredBytes) {
      return {
        problem: `its entries exceed ${UPSTREAM_LIMITS.maxStoredBytes} bytes in normal form`,
      };
    }
    entries.push(made);
  }
  return {
    entries,
    invalid: invalid.sort((a, b) => a.entry - b.entry),
    invalidEntries,
    ...defined({
      completed: completedEntries === 0 ? undefined : completed,
      completedEntries: completedEntries || undefined,
    }),
    totals: { versions, storedBytes },
  };
}

/**
 * Merges two entries of a function. Returns the reason, which ends with the first entry, if the second adds nothing.
 */
export function mergeVersions(
  first: FunctionDefinition,
  second: FunctionDefinition,
): FunctionDefinition | string {
  if (first.names.kind !== second.names.kind) return 'its kind differs only in case from the kind of';
  const known = new Set(first.versions.map(({ name }) => name));
  const added = second.versions.filter(({ name }) => !known.has(name));
  if (added.length === 0) return 'all of its API versions are already in';
  return { ...first, versions: [...first.versions, ...added] };
}

/** Returns an entry in normal form, or the reason why it is invalid. */
function readEntry(definition: FunctionDefinition): ReadEntry | string {
  let rendered: RenderedEntry;
  try {
    rendered = renderEntry(definition);
  } catch (error) {
    if (error instanceof TypeError) return 'a string contains an unpaired surrogate';
    throw error;
  }
  const bytes = Buffer.byteLength(rendered.yaml);
  if (bytes > DOCUMENT_LIMITS.maxDefinitionBytes) {
    return `it has ${bytes} bytes in normal form; the limit is ${DOCUMENT_LIMITS.maxDefinitionBytes}`;
  }
  return { definition, rendered, facts: entryFacts(definition, rendered.digest) };
}

/** Returns the facts of an entry. `digest` is the digest of its normal form. */
export function entryFacts(definition: FunctionDefinition, digest: Digest): ReadEntry['facts'] {
  return {
    group: definition.group,
    kind: definition.names.kind,
    definition: digest,
    versions: versionFacts(definition),
    tags: definition.tags ?? [],
    publisher: definition.publisher,
    runtimes: runtimeKinds(definition),
    licenses: [...new Set(definition.versions.map(({ license }) => license))],
  };
}

/** Returns the facts of each API version for policies, most preferred first. */
export function versionFacts({ versions }: FunctionDefinition): VersionFacts[] {
  return versions
    .map((version) => ({
      name: version.name,
      license: version.license,
      network: version.runtime.container?.requireNetwork === true,
      storage: version.runtime.container?.requireStorageMount === true,
      references: declaredPrograms(version).map(({ reference }) => reference),
      unpinned: unpinnedReferences(version),
    }))
    .sort((a, b) => compareApiVersions(a.name, b.name));
}
