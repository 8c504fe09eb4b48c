import type { FunctionTakedown, TakedownResult } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { text, together, type Work } from '../../sql/statement.js';
import { entryRowChanges } from '../snapshots/commit-snapshot.js';
import { removeSegmentWith } from '../snapshots/segments.js';

const holdingIn = (condition: string) =>
  `SELECT catalog, from_serial AS "fromSerial", to_serial AS "toSerial", entry FROM catalog_function
   WHERE group_name = :group AND lower(kind) = lower(:kind) AND kind = :kind
     AND EXISTS (SELECT 1 FROM ${condition})
   ORDER BY catalog, from_serial`;
const holding = text<{
  catalog: string;
  fromSerial: number;
  toSerial: number | null;
  entry: Digest | null;
}>({
  sqlite: holdingIn(`json_each(selection, '$.versions') AS version
    WHERE version.value ->> 'definition' IN (SELECT value FROM json_each(:digests))`),
  postgres: holdingIn(`jsonb_array_elements(selection -> 'versions') AS version (value)
    WHERE version.value ->> 'definition' IN (SELECT json_array_elements_text(:digests::json))`),
});
const clearEntry = text(
  `UPDATE catalog_function SET entry = NULL
   WHERE catalog = :catalog AND group_name = :group AND kind = :kind AND from_serial = :from`,
);
const withdraw = text<TakedownResult['withdrawn'][number]>(
  `UPDATE snapshot SET withdrawn = :takedown
   WHERE catalog = :catalog AND serial >= :from AND serial < coalesce(CAST(:to AS bigint), serial + 1)
     AND withdrawn IS NULL
   RETURNING catalog, serial, digest`,
);
const newestSerial = text<{ newest: number }>(
  'SELECT coalesce(max(serial), 0) AS newest FROM snapshot WHERE catalog = :catalog',
);
// An entry names its function, so no other function can use it. An upstream catalog may have the same entry.
const deleteEntry = text(
  `DELETE FROM entry WHERE digest = :entry AND NOT EXISTS (
     SELECT 1 FROM catalog_function WHERE group_name = :group AND kind = :kind AND entry = :entry)
   AND NOT EXISTS (SELECT 1 FROM upstream_entry WHERE definition = :entry)`,
);

/**
 * Removes the content of releases from every catalog; returns the snapshots that are withdrawn. Entry rows keep their
 * versions and lose their rendered entry. From the next serial on, the row is empty, until the next build selects a
 * remaining release.
 */
export function* withdrawEntries({
  group,
  kind,
  takedowns,
}: FunctionTakedown): Work<TakedownResult['withdrawn']> {
  const digests = JSON.stringify(takedowns.map(({ digest }) => digest));
  // The tombstone has the rest.
  const { signers: _signers, scripts: _scripts, runtimeDigests: _digests, ...reported } = takedowns[0]!;
  const takedown = JSON.stringify(reported);
  const rows = yield* holding.all({ group, kind, digests });
  const withdrawn: TakedownResult['withdrawn'] = [];
  for (const { catalog, fromSerial: from, toSerial: to, entry } of rows) {
    yield* clearEntry.run({ catalog, group, kind, from });
    const snapshots = yield* withdraw.all({ catalog, from, to, takedown });
    if (to === null) {
      const empty = { group, kind, versions: [], shadowed: [], yanked: [] };
      const { newest } = (yield* newestSerial.first({ catalog }))!;
      yield* together(entryRowChanges(catalog, newest + 1, empty));
      if (entry !== null) yield* removeSegmentWith(catalog, { group, kind });
    }
    withdrawn.push(...snapshots.sort((a, b) => a.serial - b.serial));
  }
  for (const { entry } of rows) if (entry !== null) yield* deleteEntry.run({ entry, group, kind });
  return withdrawn;
}
