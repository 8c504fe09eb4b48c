import type { FunctionName } from '@krmhub/schema';
import { inList, text, type Work } from '../../sql/statement.js';

const OF_REGISTRY = `SELECT group_name AS "group", kind FROM event
  WHERE sequence > :after AND sequence <= :through AND type LIKE 'release.%'`;
const ofRegistry = text<FunctionName>(`${OF_REGISTRY} GROUP BY 1, 2 ORDER BY 1, 2`);
const CHANGED_IN_SOURCES = `SELECT group_name, kind FROM upstream_entry
  WHERE catalog = :catalog AND changed_event > :after AND changed_event <= :through`;
const CONTESTED = `type IN ('release.published', 'release.taken-down')
  AND EXISTS (SELECT 1 FROM upstream_entry
    WHERE catalog = :catalog AND upstream_entry.group_name = event.group_name AND gone_at IS NULL)`;
// The last row is not of a function.
const withContest = text<{ group: string | null; kind: string | null; contested: number }>(
  `SELECT "group", kind, 0 AS contested FROM (${OF_REGISTRY} UNION ${CHANGED_IN_SOURCES}) AS changed
   UNION ALL SELECT NULL, NULL, 1 WHERE EXISTS (SELECT 1 FROM event
     WHERE sequence > :after AND sequence <= :through AND ${CONTESTED})
   ORDER BY 3, 1, 2`,
);
const withSources = text<FunctionName>(
  inList(
    (groups) => `${OF_REGISTRY}
     UNION ${CHANGED_IN_SOURCES}
     UNION SELECT group_name, kind FROM upstream_entry
       WHERE catalog = :catalog AND gone_at IS NULL AND group_name IN ${groups}
     ORDER BY 1, 2`,
    ':groups',
  ),
);
const contested = text<{ group: string; removed: number }>(
  `SELECT group_name AS "group", max(CASE WHEN type = 'release.taken-down' THEN 1 ELSE 0 END) AS removed FROM event
     WHERE sequence > :after AND sequence <= :through AND ${CONTESTED}
     GROUP BY group_name`,
);
// Not only up to `through`: compared with the current number of releases.
const publishedSince = text<{ count: number }>(
  `SELECT count(*) AS count FROM event WHERE sequence > :after AND type = 'release.published' AND group_name = :group`,
);
const countReleases = text<{ count: number }>(
  `SELECT count(*) AS count FROM (SELECT 1 FROM function JOIN release ON function_id = function.id
     WHERE group_name = :group LIMIT :limit) AS releases`,
);

interface Changes {
  after: number;
  through: number;
  catalog: string;
}

/** Returns the functions of this registry that events after `after`, up to `through`, have changed. */
export function releasesChanged(after: number, through: number): Work<FunctionName[]> {
  return ofRegistry.all({ after, through });
}

/**
 * Returns the functions of which events may change an entry of a catalog. Undefined if a group of its sources may have
 * come to this registry or left it.
 */
export function* functionsChanged(changes: Changes): Work<FunctionName[] | undefined> {
  const rows = yield* withContest.all({ ...changes });
  if (rows.at(-1)?.contested === 1) return undefined;
  return rows.map(({ group, kind }) => ({ group: group!, kind: kind! }));
}

/** Returns the same functions, with all of such groups. */
export function* functionsOfContestedGroups({ after, through, catalog }: Changes): Work<FunctionName[]> {
  const groups: string[] = [];
  for (const { group, removed } of yield* contested.all({ catalog, after, through })) {
    if (removed === 0) {
      const { count: published } = (yield* publishedSince.first({ after, group }))!;
      const { count } = (yield* countReleases.first({ group, limit: published + 1 }))!;
      if (count > published) continue;
    }
    groups.push(group);
  }
  return yield* withSources.all({ catalog, after, through, groups: JSON.stringify(groups) });
}
