import type { BuiltCatalog } from '@krmhub/catalog';
import { SNAPSHOT_RENDITIONS, type SnapshotEntry } from '@krmhub/schema';
import type { ReadInputs } from './read-inputs.js';

/** Maximum number of differences to print. */
const MAX_PRINTED = 20;

/** Lists how a build differs from the snapshot of the registry; empty if all bytes are equal. */
export function compareWithRegistry(
  built: BuiltCatalog,
  snapshotText: string,
  { snapshot, document }: ReadInputs,
): string[] {
  const forms = SNAPSHOT_RENDITIONS.filter((form) => built.digests[form] !== snapshot.digests[form]).map(
    (form) => `${form}: built ${built.digests[form]}, registry ${snapshot.digests[form]}`,
  );
  const theirs = new TextDecoder().decode(document);
  if (snapshotText === theirs) return forms;
  const entries = entryDifferences(built.functions, parseEntries(theirs));
  const printed = entries.slice(0, MAX_PRINTED);
  const more = entries.length - printed.length;
  return [
    ...forms,
    'snapshot.json differs',
    ...printed,
    ...(more === 0 ? [] : [`and ${more} more entries differ`]),
  ];
}

function parseEntries(text: string): SnapshotEntry[] {
  try {
    const { entries } = JSON.parse(text) as { entries?: unknown };
    return Array.isArray(entries) ? (entries as SnapshotEntry[]) : [];
  } catch {
    return [];
  }
}

function entryDifferences(ours: readonly SnapshotEntry[], theirs: readonly SnapshotEntry[]): string[] {
  const functionKey = ({ group, kind }: SnapshotEntry) => `${group}/${kind}`;
  const describe = ({ versions }: SnapshotEntry) =>
    versions
      .map(({ name, source, release, definition }) => `${name} from ${source} ${release ?? ''} ${definition}`)
      .join(', ');
  const mine = new Map(
    ours.filter(({ versions }) => versions.length > 0).map((one) => [functionKey(one), one]),
  );
  const other = new Map(theirs.map((one) => [functionKey(one), one]));
  const differences: string[] = [];
  for (const name of [...new Set([...mine.keys(), ...other.keys()])].sort()) {
    const [here, there] = [mine.get(name), other.get(name)];
    if (here === undefined) differences.push(`${name}: only in the registry`);
    else if (there === undefined) differences.push(`${name}: only in the build`);
    else if (describe(here) !== describe(there)) {
      differences.push(`${name}: built ${describe(here)}, registry ${describe(there)}`);
    }
  }
  return differences;
}
