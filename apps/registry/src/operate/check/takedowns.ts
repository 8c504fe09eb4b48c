import type { Digest } from '@krmhub/schema';
import type { Sql } from '../../store/sql/sql.js';
import { text } from '../../store/sql/statement.js';
import { type Check, damage, FROM_BACKUP, information } from './finding.js';

interface TakedownRow {
  name: string;
  digest: Digest;
  readme: Digest | null;
  finished: 0 | 1;
}

const AGAIN =
  'Start the registry to finish the takedown. If the problem remains, run `krmhub takedown` again.';

/** Checks that releases after a takedown are gone: rows, files, and profiles of their snapshots. */
export const checkTakedowns: Check = async function* ({ client, blobs, read, now }) {
  const remaining = client
    .prepare<[], string>(
      `SELECT function.group_name || '/' || function.kind || '@' || release.release
       FROM release JOIN function ON function.id = function_id JOIN takedown
       ON takedown.group_name = function.group_name AND takedown.kind_folded = function.kind_folded
         AND takedown.release = release.release`,
    )
    .pluck()
    .all();
  for (const name of remaining) yield damage(name, 'it was taken down, but still exists', FROM_BACKUP);
  const rows = client
    .prepare<[], TakedownRow>(
      `SELECT group_name || '/' || kind || '@' || release AS name, digest, readme, finished FROM takedown ORDER BY id`,
    )
    .all();
  for (const { name, digest, readme, finished } of rows) {
    if (finished === 0) {
      yield information(name, 'it was taken down, but is still on the disk; the next start deletes it');
      continue;
    }
    for (const blob of readme === null ? [digest] : [digest, readme]) {
      if (await isNamed(read, blob)) continue;
      // The bytes may be damaged, but they exist.
      const bytes = await blobs.get(blob).catch(() => new Uint8Array());
      // A publisher may have published the same bytes meanwhile.
      if (bytes !== undefined && !(await isNamed(now, blob)))
        yield damage(name, `it was taken down, but its file ${blob} still exists`, AGAIN);
    }
  }
  if (rows.some(({ finished }) => finished === 0)) return;
  const renditions = client
    .prepare<[], Digest>(
      `SELECT DISTINCT profile_rendition.digest FROM profile_rendition JOIN snapshot ON snapshot.digest = profile_rendition.snapshot
       WHERE withdrawn IS NOT NULL AND profile_rendition.snapshot NOT IN (
         SELECT digest FROM snapshot WHERE withdrawn IS NULL)`,
    )
    .pluck()
    .all();
  for (const digest of renditions)
    yield damage(`profile ${digest}`, 'its snapshot was withdrawn, but it is still stored', AGAIN);
};

const releaseWith = text('SELECT 1 AS found FROM release WHERE digest = :digest OR readme = :digest LIMIT 1');

async function isNamed(read: Sql['read'], digest: Digest): Promise<boolean> {
  return (await read(() => releaseWith.first({ digest }))) !== undefined;
}
