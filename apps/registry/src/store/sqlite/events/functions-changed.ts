import type { FunctionName } from '@krmhub/schema';
import { inList, text, type Work } from '../../sql/statement.js';

const OF_REGISTRY = `SELECT group_name AS "group", kind FROM event
  WHERE sequence > :after AND sequence <= :through AND type LIKE 'release.%'`;
const ofRegistry = text<FunctionName>(`${OF_REGISTRY} GROUP BY 1, 2 ORDER BY 1, 2`);
const withSources = text<FunctionName>(
  inList(
    (groups) => `${OF_REGISTRY}
     UNION SELECT group_name, kind FROM upstream_entry
       WHERE catalog = :catalog AND changed_event > :after AND changed_event <= :through
     UNION SELECT group_name, kind FROM upstream_entry
       WHERE catalog = :catalog AND gone_at IS NULL AND group_name IN ${groups}
     ORDER BY 1, 2`,
    ':groups',
  ),
);
const contested = text<{ group: string; removed: number }>(
  `SELECT group_name AS "group", max(CASE WHEN type = 'release.taken-down' THEN 1 ELSE 0 END) AS removed FROM event
     WHERE sequence > :after AND sequence <= :through AND type IN ('release.published', 'release.taken-down')
       AND EXISTS (SELECT 1 FROM upstream_entry
         WHERE catalog = :catalog AND upstream_entry.group_name = event.group_name AND gone_at IS NULL)
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

/** Returns the functions of which events after `after`, up to `through`, may change an entry. */
export function* functionsChanged(after: number, through: number, catalog?: string): Work<FunctionName[]> {
  if (catalog === undefined) return yield* ofRegistry.all({ after, through });
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
