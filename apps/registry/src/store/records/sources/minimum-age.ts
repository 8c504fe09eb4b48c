import type { SourceStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Sql } from '../../sql/sql.js';
import { text, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';

const clock = text<{ clock: string }>('SELECT clock FROM catalog WHERE name = :catalog');
const advance = text('UPDATE catalog SET clock = :now WHERE name = :catalog');
const reached = text<{ source: string }>(
  `SELECT source FROM upstream_entry WHERE catalog = :catalog AND source = :source
     AND first_seen > :from AND first_seen <= :to AND gone_at IS NULL LIMIT 1`,
);
const mark = text(
  `UPDATE upstream_entry SET changed_event = :event WHERE catalog = :catalog AND source = :source
     AND first_seen > :from AND first_seen <= :to AND gone_at IS NULL`,
);
const oldestAfter = text<{ oldest: string | null }>(
  `SELECT min(first_seen) AS oldest FROM upstream_entry
   WHERE catalog = :catalog AND source = :source AND first_seen > :after AND gone_at IS NULL`,
);

/**
 * Moves the clock of a catalog. An entry reached the minimum age once the clock is that long after its first-seen
 * time.
 */
export function applyMinimumAge({ write }: Sql): SourceStore['advanceCatalogClock'] {
  return ({ catalog, minimumAges, now, event }) =>
    write(function* () {
      const clock = yield* readClock(catalog);
      if (clock >= now) return undefined;
      yield* advance.run({ now, catalog });
      const spans: Record<'catalog' | 'source' | 'from' | 'to', string>[] = [];
      for (const [source, age] of minimumAges) {
        const span = { catalog, source, from: moved(clock, -age), to: moved(now, -age) };
        if ((yield* reached.first(span)) !== undefined) spans.push(span);
      }
      if (spans.length === 0) return undefined;
      const appended = yield* appendEvent(event);
      for (const span of spans) yield* mark.run({ ...span, event: appended.sequence });
      return appended;
    });
}

export function nextMinimumAge({ read }: Sql): SourceStore['nextMinimumAgeAt'] {
  return (catalog, minimumAges) =>
    read(function* () {
      const clock = yield* readClock(catalog);
      const due: string[] = [];
      for (const [source, age] of minimumAges) {
        const found = yield* oldestAfter.first({ catalog, source, after: moved(clock, -age) });
        if (found?.oldest != null) due.push(moved(found.oldest, age));
      }
      return due.sort()[0];
    });
}

function* readClock(catalog: string): Work<string> {
  const found = yield* clock.first({ catalog });
  if (found === undefined) throw new KrmhubError('not-found', `catalog ${catalog} not found`);
  return found.clock;
}

function moved(time: string, seconds: number): string {
  return new Date(Date.parse(time) + seconds * 1_000).toISOString();
}
