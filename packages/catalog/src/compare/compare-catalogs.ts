import type { EntryVersion, FunctionDefinition, FunctionVersion, SnapshotEntry } from '@krmhub/schema';
import { compareFunctionNames } from '../ports/function-name.js';
import { FunctionChanges } from './catalogs/changes.js';
import type { CatalogChange } from './catalogs/classes.js';
import { addDefinitionChanges, addReleaseChange, CAPABILITIES } from './catalogs/definition-changes.js';
import { compareDefinitions } from './compare.js';
import { isSameContent } from './content.js';

export type {
  CatalogChange,
  CatalogChangeClass,
  CatalogChangeImpact,
} from './catalogs/classes.js';
export {
  CATALOG_CHANGE_CLASSES,
  CATALOG_CHANGE_IMPACT_LABELS,
  CATALOG_CHANGE_IMPACTS,
} from './catalogs/classes.js';

/** The parts of a catalog that are compared. */
export interface ComparedCatalog {
  /** Definitions in normal form. Of duplicate API versions, the first counts, as for orchestrators. */
  functions: readonly FunctionDefinition[];
  /** The entries of `snapshot.json`. Releases, sources, and signers are compared only if both sides have them. */
  entries?: readonly SnapshotEntry[];
}

/** Returns a catalog with one API version of a definition, from a release. */
export function oneVersion(
  definition: FunctionDefinition,
  version: string,
  from: Pick<EntryVersion, 'definition' | 'release' | 'signedBy'>,
): ComparedCatalog {
  const { group, names, versions } = definition;
  const origin = { name: version, source: '', ...from };
  return {
    functions: [{ ...definition, versions: versions.filter(({ name }) => name === version) }],
    entries: [{ group, kind: names.kind, versions: [origin] }],
  };
}

/**
 * Compares two states of a catalog by meaning, by function in catalog order, most severe changes first. Takes linear
 * time, and compares only functions that differ in detail.
 */
export function compareCatalogs(before: ComparedCatalog, after: ComparedCatalog): CatalogChange[] {
  const old = functionsByName(before.functions);
  const now = functionsByName(after.functions);
  const known = before.entries !== undefined && after.entries !== undefined;
  const oldEntries = entriesByName(known ? before.entries : []);
  const entries = entriesByName(known ? after.entries : []);
  const names = [
    ...new Map([...old, ...now].map(([key, fn]) => [key, { ...functionName(fn), key }])).values(),
  ];
  return names.sort(compareFunctionNames).flatMap(({ key, ...name }) => {
    const changes = new FunctionChanges(name);
    const [was, is] = [old.get(key), now.get(key)];
    if (was === undefined) addNewFunction(is!, changes);
    else if (is === undefined) changes.add('function-removed', 'the function is removed');
    else {
      addProvenanceChanges(is, oldEntries.get(key), entries.get(key), changes);
      if (!isSameContent(was, is)) addDefinitionChanges(was, is, compareDefinitions(was, is), changes);
    }
    return changes.sorted();
  });
}

/** A new function has no files yet, but its permissions are reported. */
function addNewFunction({ versions }: FunctionDefinition, changes: FunctionChanges): void {
  changes.add('function-added', `the function is added: ${versions.map(({ name }) => name).join(', ')}`);
  for (const { name, runtime } of versions) {
    for (const { field, needed, what } of CAPABILITIES) {
      if (runtime.container?.[field] !== true) continue;
      changes.add(needed, `the container requires ${what}`, { version: name });
    }
  }
}

/** Compares release, source, and signer of API versions on both sides. */
function addProvenanceChanges(
  { versions }: FunctionDefinition,
  before: SnapshotEntry | undefined,
  after: SnapshotEntry | undefined,
  changes: FunctionChanges,
): void {
  if (before === undefined || after === undefined) return;
  const old = versionsByName(before);
  const now = versionsByName(after);
  for (const { name } of versions) {
    const [was, is] = [old.get(name), now.get(name)];
    if (was === undefined || is === undefined) continue;
    const version = { version: name };
    if (was.release !== undefined && is.release !== undefined && was.release !== is.release) {
      addReleaseChange('the release', was.release, is.release, version, changes);
    }
    if (was.source !== is.source) {
      const message = `the source changed from ${was.source} to ${is.source}`;
      changes.add('source-changed', message, { ...version, before: was.source, after: is.source });
    }
    addSignerChange(was.signedBy, is.signedBy, version, changes);
  }
}

function addSignerChange(
  before: string | undefined,
  after: string | undefined,
  version: { version: string },
  changes: FunctionChanges,
): void {
  if (before === after) return;
  const details = { ...version, before, after };
  if (before === undefined) changes.add('signature-added', `it is now signed by ${after}`, details);
  else if (after === undefined) {
    changes.add('signature-removed', `it is no longer signed; it was signed by ${before}`, details);
  } else changes.add('signer-changed', `the signer changed from ${before} to ${after}`, details);
}

/** Merges the entries of one function. Each API version comes from its first entry (KEP-2906, "Proposal"). */
function functionsByName(functions: readonly FunctionDefinition[]): Map<string, FunctionDefinition> {
  const found = new Map<string, FunctionDefinition>();
  for (const fn of functions) {
    const key = functionKey(functionName(fn));
    const first = found.get(key);
    const versions = uniqueVersions([...(first?.versions ?? []), ...fn.versions]);
    found.set(key, { ...(first ?? fn), versions });
  }
  return found;
}

function uniqueVersions(versions: readonly FunctionVersion[]): FunctionVersion[] {
  const found = new Map<string, FunctionVersion>();
  for (const version of versions) if (!found.has(version.name)) found.set(version.name, version);
  return [...found.values()];
}

function entriesByName(entries: readonly SnapshotEntry[] = []): Map<string, SnapshotEntry> {
  return new Map(entries.map((entry) => [functionKey(entry), entry]));
}

function versionsByName({ versions }: SnapshotEntry): Map<string, EntryVersion> {
  return new Map(versions.map((version) => [version.name, version]));
}

function functionName({ group, names: { kind } }: FunctionDefinition): { group: string; kind: string } {
  return { group, kind };
}

function functionKey({ group, kind }: { group: string; kind: string }): string {
  return JSON.stringify([group, kind]);
}
