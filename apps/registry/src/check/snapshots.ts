import type { RenderedEntry, SnapshotRecord } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_FORMS, sha256 } from '@krmhub/schema';
import { assembleForm, readEntries } from '../assemble-form.js';
import { catalogHeader } from '../snapshot-forms.js';
import { type Check, type CheckInput, damage, FROM_BACKUP } from './finding.js';

/** Entries read at once. */
const PAGE = 200;

/** Every rendered entry has its digest. */
export const checkEntries: Check = async function* ({ client, progress }) {
  const page = client.prepare<[string, number], { digest: Digest; yaml: string }>(
    'SELECT digest, yaml FROM entry WHERE digest > ? ORDER BY digest LIMIT ?',
  );
  let checked = 0;
  for (let rows = page.all('', PAGE); rows.length > 0; rows = page.all(rows.at(-1)!.digest, PAGE)) {
    for (const { digest, yaml } of rows) {
      if (sha256(yaml) !== digest)
        yield damage(`entry ${digest}`, 'its text has another digest', FROM_BACKUP);
    }
    checked += rows.length;
    await progress(`${checked} entries checked`);
  }
};

/** Snapshots of a catalog follow each other, and each can be put together with the bytes of its digests. */
export const checkSnapshots: Check = async function* (input) {
  for (const { name } of await input.store.catalogs()) {
    const snapshots = (await input.store.snapshots(name, Number.MAX_SAFE_INTEGER)).reverse();
    let known = new Map<Digest, RenderedEntry>();
    for (const [index, snapshot] of snapshots.entries()) {
      const subject = `snapshot ${name} ${snapshot.serial}`;
      const before = snapshots[index - 1];
      if (snapshot.serial !== (before?.serial ?? 0) + 1) {
        yield damage(subject, `it follows snapshot ${before?.serial ?? 0}`, FROM_BACKUP);
      } else if (snapshot.previous !== (before?.digests['catalog.yaml'] ?? null)) {
        yield damage(subject, 'the digest of the snapshot before it is another', FROM_BACKUP);
      }
      try {
        known = await entriesOf(input, snapshot, known);
      } catch (error) {
        yield damage(subject, `its entries cannot be read: ${(error as Error).message}`, FROM_BACKUP);
        continue;
      }
      for (const message of await problemsOf(snapshot, [...known.values()])) {
        yield damage(subject, message, FROM_BACKUP);
      }
      await input.progress(`${index + 1} of ${snapshots.length} snapshots of ${name} put together again`);
    }
  }
};

/** In the order of the catalog; a function stands in it once, and so does an entry. */
async function entriesOf(
  { store }: CheckInput,
  { catalog, serial }: SnapshotRecord,
  known: ReadonlyMap<Digest, RenderedEntry>,
): Promise<Map<Digest, RenderedEntry>> {
  const places = await store.snapshotFunctions(catalog, serial);
  const digests = places.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));
  const entries = await readEntries(store as Parameters<typeof readEntries>[0], digests, known);
  return new Map(entries.map((entry) => [entry.digest, entry]));
}

async function problemsOf(snapshot: SnapshotRecord, entries: readonly RenderedEntry[]): Promise<string[]> {
  const problems: string[] = [];
  if (entries.length !== snapshot.functions) {
    problems.push(`it holds ${entries.length} functions where its row says ${snapshot.functions}`);
  }
  for (const form of SNAPSHOT_FORMS) {
    const { digest } = await assembleForm(form, catalogHeader(snapshot), entries);
    if (digest !== snapshot.digests[form]) {
      problems.push(`${form} put together again has the digest ${digest}, not ${snapshot.digests[form]}`);
    }
  }
  return problems;
}
