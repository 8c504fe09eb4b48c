import { createHash } from 'node:crypto';
import { catalogPieces, type RenderedEntry, type SnapshotRecord } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, sha256 } from '@krmhub/schema';
import { catalogHeader } from '../../catalogs/catalog-header.js';
import { PURGED_CATALOGS } from '../../store/records/snapshots/catalog-deletion.js';
import { type Check, type CheckInput, damage, FROM_BACKUP } from './finding.js';

/** Entries per read. */
const PAGE = 200;

/** Checks that every rendered entry matches its digest. */
export const checkEntries: Check = async function* ({ client, progress }) {
  const page = client.prepare<[string, number], { digest: Digest; yaml: string }>(
    'SELECT digest, yaml FROM entry WHERE digest > ? ORDER BY digest LIMIT ?',
  );
  let checked = 0;
  for (let rows = page.all('', PAGE); rows.length > 0; rows = page.all(rows.at(-1)!.digest, PAGE)) {
    for (const { digest, yaml } of rows) {
      if (sha256(yaml) !== digest)
        yield damage(`entry ${digest}`, 'its text does not match its digest', FROM_BACKUP);
    }
    checked += rows.length;
    await progress(`${checked} entries checked`);
  }
};

/** Checks that snapshots of a catalog follow each other, and that each can be regenerated with its digests. */
export const checkSnapshots: Check = async function* (input) {
  yield* brokenEntryRanges(input);
  // A deleted catalog can be restored until it is purged.
  const deleted = (await input.store.deletedCatalogs()).filter(({ purgedAt }) => purgedAt === undefined);
  const names = [...(await input.store.catalogs()), ...deleted];
  for (const { name } of names) {
    const snapshots = (await input.store.snapshots(name, Number.MAX_SAFE_INTEGER)).reverse();
    for (const [index, snapshot] of snapshots.entries()) {
      const subject = `snapshot ${name} ${snapshot.serial}`;
      const before = snapshots[index - 1];
      if (snapshot.serial !== (before?.serial ?? 0) + 1) {
        yield damage(subject, `its predecessor is snapshot ${before?.serial ?? 0}`, FROM_BACKUP);
      } else if (snapshot.previous !== (before?.digests['catalog.yaml'] ?? null)) {
        yield damage(subject, 'the digest of its predecessor does not match', FROM_BACKUP);
      }
      // The bytes of a withdrawn snapshot are deleted.
      if (snapshot.withdrawn !== undefined) continue;
      for (const message of await findProblems(input, snapshot)) yield damage(subject, message, FROM_BACKUP);
      await input.progress(`${index + 1} of ${snapshots.length} snapshots of catalog ${name} regenerated`);
    }
  }
};

/** Yields entry rows that do not end where the next row of the function begins. */
function* brokenEntryRanges({ client }: CheckInput) {
  const broken = client.prepare<[], { catalog: string; name: string; serial: number }>(
    `SELECT catalog, group_name || '/' || kind AS name, from_serial AS serial
     FROM (SELECT *, lead(from_serial) OVER (PARTITION BY catalog, group_name, kind ORDER BY from_serial) AS next
       FROM catalog_function WHERE catalog NOT IN (${PURGED_CATALOGS})) WHERE to_serial IS NOT next`,
  );
  for (const { catalog, name, serial } of broken.all()) {
    const message = `its entry range from serial ${serial} does not end where the next range begins`;
    yield damage(`${name} in ${catalog}`, message, FROM_BACKUP);
  }
}

async function findProblems({ store }: CheckInput, snapshot: SnapshotRecord): Promise<string[]> {
  const rows = await store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
  const digests = rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));
  const forms = SNAPSHOT_RENDITIONS.map((form) => ({
    form,
    pieces: catalogPieces(form, catalogHeader(snapshot)),
    hash: createHash('sha256'),
  }));
  for (let start = 0; start < digests.length; start += PAGE) {
    const page = digests.slice(start, start + PAGE);
    let entries: Map<Digest, RenderedEntry>;
    try {
      entries = await store.entries(page);
    } catch (error) {
      return [`its entries cannot be read: ${(error as Error).message}`];
    }
    for (const digest of page) {
      for (const { pieces, hash } of forms) hash.update(pieces.entry(entries.get(digest)!));
    }
  }
  const problems: string[] = [];
  if (digests.length !== snapshot.functions) {
    problems.push(`it has ${digests.length} functions, expected ${snapshot.functions}`);
  }
  for (const { form, pieces, hash } of forms) {
    const digest = `sha256:${hash.update(pieces.end()).digest('hex')}`;
    if (digest !== snapshot.digests[form]) {
      problems.push(`regenerated ${form} has digest ${digest}, expected ${snapshot.digests[form]}`);
    }
  }
  return problems;
}
