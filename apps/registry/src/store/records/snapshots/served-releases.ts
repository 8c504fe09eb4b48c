import { setImmediate } from 'node:timers/promises';
import type { ServedRelease, ServedReleaseReader } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ReadSql } from '../../sql/sql.js';
import { text, type Work } from '../../sql/statement.js';

/** Functions that are read before other work runs. */
const READ_AT_ONCE = 2;

interface ServedRow {
  release: string;
  version: string;
  definition: Digest;
  signedBy: string | null;
  first: number;
  /** Null if the newest snapshot has it. */
  last: number | null;
  serial: number | null;
}

const NEWEST = '(SELECT max(serial) FROM snapshot WHERE catalog = :catalog)';
/** The last serial of a state; of the current one, the newest. */
const LAST = `coalesce(to_serial - 1, ${NEWEST})`;
const OF_FUNCTION = `catalog = :catalog AND group_name = :group AND kind = :kind AND from_serial <= ${NEWEST}`;

/** The serial of the oldest of the newest states of an entry that are read; undefined if there are fewer. */
const oldest = text<{ from: number }>(
  `SELECT from_serial AS "from" FROM catalog_function WHERE ${OF_FUNCTION}
   ORDER BY from_serial DESC LIMIT 1 OFFSET :skipped`,
);

function servedIn(versions: string): string {
  // A state that a pending change ends is still that of the newest snapshot.
  return `SELECT release, version, definition, max(signed_by) AS "signedBy", min(first) AS first,
     CASE WHEN max(last) < ${NEWEST} THEN max(last) END AS last, max(serial) AS serial
   FROM (
     SELECT version.value ->> 'release' AS release, version.value ->> 'name' AS version,
       version.value ->> 'definition' AS definition, version.value ->> 'signedBy' AS signed_by,
       from_serial AS first, ${LAST} AS last,
       CASE WHEN entry IS NOT NULL THEN (
         SELECT snapshot.serial FROM snapshot
         WHERE snapshot.catalog = :catalog AND snapshot.withdrawn IS NULL
           AND snapshot.serial BETWEEN from_serial AND ${LAST}
         ORDER BY snapshot.serial DESC LIMIT 1
       ) END AS serial
     FROM catalog_function, ${versions} WHERE ${OF_FUNCTION} AND from_serial >= :from
   ) AS state
   WHERE release IS NOT NULL
   GROUP BY release, version, definition ORDER BY release, version, definition`;
}

const served = text<ServedRow>({
  sqlite: servedIn(`json_each(selection, '$.versions') AS version`),
  postgres: servedIn(`jsonb_array_elements(selection -> 'versions') AS version (value)`),
});

function* readServed(
  catalog: string,
  { group, kind }: FunctionName,
  limit: number,
): Work<{ served: ServedRelease[]; isAll: boolean }> {
  const states = { catalog, group, kind };
  const beyond = yield* oldest.first({ ...states, skipped: limit });
  const rows = yield* served.all({ ...states, from: beyond === undefined ? 0 : beyond.from + 1 });
  return {
    isAll: beyond === undefined,
    served: rows.map(({ signedBy, last, serial, ...row }) => ({
      ...row,
      ...defined({
        signedBy: signedBy ?? undefined,
        last: last ?? undefined,
        serial: serial ?? undefined,
      }),
    })),
  };
}

/** Reads which snapshots of a catalog have which releases, from the ranges of serials of its entries. */
export function servedReleases({ read }: ReadSql): ServedReleaseReader {
  return {
    async servedReleases(catalog, functions, limit) {
      const found: { served: ServedRelease[]; isAll: boolean }[] = [];
      for (let start = 0; start < functions.length; start += READ_AT_ONCE) {
        if (start > 0) await setImmediate();
        const batch = functions.slice(start, start + READ_AT_ONCE);
        const states = await read(function* () {
          const each: typeof found = [];
          for (const name of batch) each.push(yield* readServed(catalog, name, limit));
          return each;
        });
        found.push(...states);
      }
      return found;
    },
  };
}
