import type { EventStore } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';

export function functionsChanged({ client, read }: Connection): EventStore['changedFunctions'] {
  type Range = { after: number; through: number };
  const OF_REGISTRY = `SELECT group_name AS "group", kind FROM event
     WHERE sequence > :after AND sequence <= :through AND type LIKE 'release.%'`;
  const ofRegistry = prepared(() =>
    client.prepare<Range, FunctionName>(`${OF_REGISTRY} GROUP BY 1, 2 ORDER BY 1, 2`),
  );
  const withSources = prepared(() =>
    client.prepare<Range & { catalog: string; groups: string }, FunctionName>(
      `${OF_REGISTRY}
     UNION SELECT group_name, kind FROM upstream_entry
       WHERE catalog = :catalog AND changed_event > :after AND changed_event <= :through
     UNION SELECT group_name, kind FROM upstream_entry
       WHERE catalog = :catalog AND gone_at IS NULL AND group_name IN (SELECT value FROM json_each(:groups))
     ORDER BY 1, 2`,
    ),
  );
  const contested = prepared(() =>
    client.prepare<Range & { catalog: string }, { group: string; removed: 0 | 1 }>(
      `SELECT group_name AS "group", max(type = 'release.taken-down') AS removed FROM event
     WHERE sequence > :after AND sequence <= :through AND type IN ('release.published', 'release.taken-down')
       AND EXISTS (SELECT 1 FROM upstream_entry
         WHERE catalog = :catalog AND upstream_entry.group_name = event.group_name AND gone_at IS NULL)
     GROUP BY group_name`,
    ),
  );
  // Not only up to `through`: compared with the current number of releases.
  const publishedSince = prepared(() =>
    client
      .prepare<[number, string], number>(
        `SELECT count(*) FROM event WHERE sequence > ? AND type = 'release.published' AND group_name = ?`,
      )
      .pluck(),
  );
  const countReleases = prepared(() =>
    client
      .prepare<[string, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM function JOIN release ON function_id = function.id
         WHERE group_name = ? LIMIT ?)`,
      )
      .pluck(),
  );

  return (after, through, catalog) =>
    read(() => {
      if (catalog === undefined) return ofRegistry.all({ after, through });
      const groups = contested.all({ catalog, after, through }).filter(({ group, removed }) => {
        if (removed === 1) return true;
        const published = publishedSince.get(after, group)!;
        return countReleases.get(group, published + 1)! <= published;
      });
      const names = JSON.stringify(groups.map(({ group }) => group));
      return withSources.all({ catalog, after, through, groups: names });
    });
}
