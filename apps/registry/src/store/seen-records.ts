import { setImmediate } from 'node:timers/promises';
import {
  type CatalogReader,
  type CatalogRecord,
  type Event,
  type ServedEntryReader,
  type SnapshotRecord,
  type SourceRecord,
  visibleSource,
} from '@krmhub/catalog';
import type { Withdrawal } from '@krmhub/schema';
import { seenMarks } from './seen-replacements.js';
import type { Sight } from './sight.js';

/** What records and pages of them have for the actor of a request. */

/** Events of one read while hidden ones are left out. */
const BATCH = 500;

export function seenCatalog(catalog: CatalogRecord, sight: Sight): CatalogRecord[] {
  if (!sight.catalog(catalog.name)) return [];
  const { newest } = catalog;
  return newest === undefined ? [catalog] : [{ ...catalog, newest: seenSnapshot(newest, sight) }];
}

export function seenSource(source: SourceRecord, sight: Sight): SourceRecord[] {
  if (!sight.catalog(source.catalog)) return [];
  return [sight.everything() ? source : visibleSource(source, sight.function)];
}

/** What is said of a takedown to those who may not know what was taken down. */
const HIDDEN_REASON = 'the reason is told to those who may read the function';

/** Clients must know that a snapshot was withdrawn, and not which function that they may not read was the cause. */
export function seenSnapshot(snapshot: SnapshotRecord, sight: Sight): SnapshotRecord {
  const { withdrawn } = snapshot;
  if (withdrawn === undefined || seesWithdrawal(withdrawn, sight)) return snapshot;
  const { at, by } = withdrawn;
  return { ...snapshot, withdrawn: { at, by, reason: HIDDEN_REASON } };
}

function seesWithdrawal({ group, kind = '' }: Withdrawal, sight: Sight): boolean {
  return group !== undefined && sight.function({ group, kind });
}

/** Events of withdrawn snapshots have the reason of the takedown, and not the name of the function. */
export async function withoutReasons(
  { snapshot }: CatalogReader,
  sight: Sight,
  events: Event[],
): Promise<Event[]> {
  // Those of one takedown, which can be many, have one time.
  const known = new Map<string, boolean>();
  const seen: Event[] = [];
  for (const event of events) {
    const { type, at, catalog = '', serial = 0, reason } = event;
    if (type !== 'catalog.withdrawn') {
      seen.push(event);
      continue;
    }
    const key = `${at} ${reason}`;
    const withdrawn = known.has(key) ? undefined : (await snapshot(catalog, serial))?.withdrawn;
    const isSeen = known.get(key) ?? (withdrawn !== undefined && seesWithdrawal(withdrawn, sight));
    known.set(key, isSeen);
    seen.push(isSeen ? event : { ...event, reason: HIDDEN_REASON });
  }
  return seen;
}

/** Reads on until a page is full or nothing follows: a short one would look like the last one. */
export async function seenEvents(
  store: Pick<ServedEntryReader, 'servingCatalogs'>,
  read: (after: number, limit: number) => Promise<Event[]>,
  sight: Sight,
  after: number,
  limit: number,
): Promise<Event[]> {
  const seen: Event[] = [];
  let page = await read(after, limit);
  while (page.length > 0) {
    seen.push(...page.filter((event) => seesEvent(sight, event)));
    if (seen.length >= limit) break;
    // What is hidden can be long, and a client can ask for one event at a time. Other requests run in between.
    await setImmediate();
    page = await read(page.at(-1)!.sequence, Math.max(limit, BATCH));
  }
  return seenMarks(store, seen.slice(0, limit), sight);
}

/** Of an event with a function and a catalog, both must be readable. */
function seesEvent(sight: Sight, { type, group, kind, catalog }: Event): boolean {
  if (type === 'access.applied' || type === 'policy.applied') return sight.registry();
  const seesFunction = group === undefined || sight.function({ group, kind: kind ?? '' });
  return seesFunction && (catalog === undefined || sight.catalog(catalog));
}
