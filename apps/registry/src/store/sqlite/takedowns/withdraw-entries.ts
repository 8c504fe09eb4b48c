import type { FunctionTakedown, TakedownResult } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { entryRowWriter } from '../snapshots/commit-snapshot.js';
import { segmentRemover } from '../snapshots/segments.js';

interface WithdrawnRow {
  catalog: string;
  fromSerial: number;
  toSerial: number | null;
  entry: Digest | null;
}

/**
 * Removes the content of releases from every catalog; call it in a transaction. Entry rows keep their versions and
 * lose their rendered entry; snapshots with it are withdrawn. From the next serial on, the row is empty, until the
 * next build selects a remaining release.
 */
export function entryWithdrawer(
  connection: Connection,
): (change: FunctionTakedown) => TakedownResult['withdrawn'] {
  const { client } = connection;
  const storeEntryRow = entryRowWriter(connection);
  const removeSegment = segmentRemover(connection);
  const holding = prepared(() =>
    client.prepare<{ group: string; kind: string; digests: string }, WithdrawnRow>(
      `SELECT catalog, from_serial AS fromSerial, to_serial AS toSerial, entry FROM catalog_function
     WHERE group_name = :group AND kind = :kind AND EXISTS (
       SELECT 1 FROM json_each(selection, '$.versions') AS version
       WHERE version.value ->> 'definition' IN (SELECT value FROM json_each(:digests)))
     ORDER BY catalog, from_serial`,
    ),
  );
  const clearEntry = prepared(() =>
    client.prepare<WithdrawnRow & { group: string; kind: string }>(
      `UPDATE catalog_function SET entry = NULL
     WHERE catalog = :catalog AND group_name = :group AND kind = :kind AND from_serial = :fromSerial`,
    ),
  );
  const withdraw = prepared(() =>
    client.prepare<
      { catalog: string; from: number; to: number | null; takedown: string },
      TakedownResult['withdrawn'][number]
    >(
      `UPDATE snapshot SET withdrawn = :takedown
     WHERE catalog = :catalog AND serial >= :from AND (:to IS NULL OR serial < :to) AND withdrawn IS NULL
     RETURNING catalog, serial, digest`,
    ),
  );
  const newestSerial = prepared(() =>
    client
      .prepare<[string], number>('SELECT coalesce(max(serial), 0) FROM snapshot WHERE catalog = ?')
      .pluck(),
  );
  // An entry names its function, so no other function can use it. An upstream catalog may have the same entry.
  const deleteEntry = prepared(() =>
    client.prepare<{ entry: string; group: string; kind: string }>(
      `DELETE FROM entry WHERE digest = :entry AND NOT EXISTS (
       SELECT 1 FROM catalog_function WHERE group_name = :group AND kind = :kind AND entry = :entry)
     AND NOT EXISTS (SELECT 1 FROM upstream_entry WHERE definition = :entry)`,
    ),
  );

  return ({ group, kind, takedowns }) => {
    const digests = JSON.stringify(takedowns.map(({ digest }) => digest));
    // The tombstone has the signers of the release.
    const { signers: _, ...reported } = takedowns[0]!;
    const takedown = JSON.stringify(reported);
    const rows = holding.all({ group, kind, digests });
    const withdrawn = rows.flatMap((row) => {
      const { catalog, fromSerial: from, toSerial: to } = row;
      clearEntry.run({ ...row, group, kind });
      const snapshots = withdraw.all({ catalog, from, to, takedown });
      if (to === null) {
        const empty = { group, kind, versions: [], shadowed: [], yanked: [] };
        storeEntryRow(catalog, newestSerial.get(catalog)! + 1, empty);
        if (row.entry !== null) removeSegment(catalog, { group, kind });
      }
      return snapshots.sort((a, b) => a.serial - b.serial);
    });
    for (const { entry } of rows) if (entry !== null) deleteEntry.run({ entry, group, kind });
    return withdrawn;
  };
}
