import type { SourceStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { eventAppender } from '../events/events.js';
import { prepared } from '../prepared.js';

/**
 * Moves the clock of a catalog. An entry reached the minimum age once the clock is that long after its first-seen
 * time.
 */
export function applyMinimumAge(connection: Connection): SourceStore['advanceCatalogClock'] {
  const { client, write } = connection;
  const appendEvent = eventAppender(connection);
  const clockOf = clockFinder(connection);
  const advance = prepared(() =>
    client.prepare<[string, string]>('UPDATE catalog SET clock = ? WHERE name = ?'),
  );
  const hasReached = prepared(() =>
    client
      .prepare<{ catalog: string; source: string; from: string; to: string }, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM upstream_entry WHERE catalog = :catalog AND source = :source
         AND first_seen > :from AND first_seen <= :to AND gone_at IS NULL)`,
      )
      .pluck(),
  );
  const mark = prepared(() =>
    client.prepare<{ catalog: string; source: string; from: string; to: string; event: number }>(
      `UPDATE upstream_entry SET changed_event = :event WHERE catalog = :catalog AND source = :source
       AND first_seen > :from AND first_seen <= :to AND gone_at IS NULL`,
    ),
  );

  return ({ catalog, minimumAges, now, event }) =>
    write(() => {
      const clock = clockOf(catalog);
      if (clock >= now) return undefined;
      advance.run(now, catalog);
      const spans = [...minimumAges]
        .map(([source, age]) => ({ catalog, source, from: moved(clock, -age), to: moved(now, -age) }))
        .filter((span) => hasReached.get(span) === 1);
      if (spans.length === 0) return undefined;
      const appended = appendEvent(event);
      for (const span of spans) mark.run({ ...span, event: appended.sequence });
      return appended;
    });
}

export function nextMinimumAge(connection: Connection): SourceStore['nextMinimumAgeAt'] {
  const { client, read } = connection;
  const clockOf = clockFinder(connection);
  const oldestAfter = prepared(() =>
    client
      .prepare<[string, string, string], string | null>(
        `SELECT min(first_seen) FROM upstream_entry
       WHERE catalog = ? AND source = ? AND first_seen > ? AND gone_at IS NULL`,
      )
      .pluck(),
  );
  return (catalog, minimumAges) =>
    read(() => {
      const clock = clockOf(catalog);
      const due = [...minimumAges].flatMap(([source, age]) => {
        const oldest = oldestAfter.get(catalog, source, moved(clock, -age));
        return oldest == null ? [] : [moved(oldest, age)];
      });
      return due.sort()[0];
    });
}

function clockFinder({ client }: Connection): (catalog: string) => string {
  const find = prepared(() =>
    client.prepare<[string], string>('SELECT clock FROM catalog WHERE name = ?').pluck(),
  );
  return (catalog) => {
    const clock = find.get(catalog);
    if (clock === undefined) throw new KrmhubError('not-found', `catalog ${catalog} not found`);
    return clock;
  };
}

function moved(time: string, seconds: number): string {
  return new Date(Date.parse(time) + seconds * 1_000).toISOString();
}
