import type { BuiltCatalog } from '@krmhub/catalog';
import { SNAPSHOT_RENDITIONS, type SnapshotEntry } from '@krmhub/schema';
import type { ReadInputs } from './read-inputs.js';

/** Differences that are told one by one. */
const MAX_TOLD = 20;

/** Where what was built is not what the registry has, in words; empty where it is the same, byte for byte. */
export function differencesOf(
  built: BuiltCatalog,
  snapshotText: string,
  { snapshot, document }: Pick<ReadInputs, 'snapshot' | 'document'>,
): string[] {
  const forms = SNAPSHOT_RENDITIONS.filter((form) => built.digests[form] !== snapshot.digests[form]).map(
    (form) => `${form} is ${built.digests[form]}, and the registry’s is ${snapshot.digests[form]}`,
  );
  const theirs = new TextDecoder().decode(document);
  if (snapshotText === theirs) return forms;
  const entries = entryDifferences(built.functions, entriesIn(theirs));
  const told = entries.slice(0, MAX_TOLD);
  const more = entries.length - told.length;
  return [
    ...forms,
    'snapshot.json is another',
    ...told,
    ...(more === 0 ? [] : [`and ${more} more entries differ`]),
  ];
}

function entriesIn(text: string): SnapshotEntry[] {
  try {
    const { entries } = JSON.parse(text) as { entries?: unknown };
    return Array.isArray(entries) ? (entries as SnapshotEntry[]) : [];
  } catch {
    return [];
  }
}

function entryDifferences(ours: readonly SnapshotEntry[], theirs: readonly SnapshotEntry[]): string[] {
  const nameOf = ({ group, kind }: SnapshotEntry) => `${group}/${kind}`;
  const said = ({ versions }: SnapshotEntry) =>
    versions
      .map(({ name, source, release, definition }) => `${name} of ${source} ${release ?? ''} ${definition}`)
      .join(', ');
  const mine = new Map(ours.filter(({ versions }) => versions.length > 0).map((one) => [nameOf(one), one]));
  const other = new Map(theirs.map((one) => [nameOf(one), one]));
  const differences: string[] = [];
  for (const name of [...new Set([...mine.keys(), ...other.keys()])].sort()) {
    const [here, there] = [mine.get(name), other.get(name)];
    if (here === undefined) differences.push(`${name} is only in the registry’s`);
    else if (there === undefined) differences.push(`${name} is only in what was built`);
    else if (said(here) !== said(there)) {
      differences.push(`${name} is ${said(here)}, and in the registry’s ${said(there)}`);
    }
  }
  return differences;
}
