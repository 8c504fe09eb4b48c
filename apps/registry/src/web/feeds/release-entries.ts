import type {
  Event,
  EventStore,
  FunctionReader,
  FunctionRecord,
  FunctionStore,
  ReleaseSummary,
} from '@krmhub/catalog';
import type { Takedown } from '@krmhub/schema';
import { EVENTS } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { functionPath, releasePath } from '../addresses.js';
import type { Site } from '../site.js';
import { cutText } from '../visible-text.js';
import { type FeedEntry, permanentId } from './atom.js';

/** Maximum number of entries of a feed, and of events to search for them. */
export const FEED_LIMITS = {
  maxEntries: 50,
  /** Events per read, and maximum number of reads: most events are of catalogs. */
  eventsAtOnce: 500,
  maxReads: 10,
} as const;

/** UTF-16 code units of notes in an entry; the page of the release has all. */
const MAX_NOTES = 4_000;

type FeedEvent = Pick<Event, 'type' | 'at' | 'by'> & {
  group: string;
  kind: string;
  release: string;
  digest?: string;
  reason?: string;
  notes?: string;
};

/** Entries of one document of a feed, newest first. */
export interface EntryPage {
  entries: FeedEntry[];
  /** Where the next document starts. */
  next?: number;
}

/**
 * Returns events of releases of all functions, by default the newest. It reads a few thousand events, so there can be
 * further ones after few.
 */
export async function registryEntries(
  store: FunctionStore & EventStore,
  site: Site,
  start?: number,
): Promise<EntryPage> {
  const { maxEntries, eventsAtOnce, maxReads } = FEED_LIMITS;
  const found: (FeedEvent & { sequence: number })[] = [];
  let before = Math.min((await store.lastEvent()) + 1, start ?? Number.POSITIVE_INFINITY);
  for (let reads = 0; reads < maxReads && before > 1 && found.length < maxEntries; reads++) {
    const after = Math.max(before - eventsAtOnce - 1, 0);
    const events = await store.events(after, eventsAtOnce, before);
    for (const event of events.reverse()) {
      const one = feedEvent(event);
      if (one !== undefined) found.push({ ...one, sequence: event.sequence });
    }
    before = after + 1;
  }
  const shown = await withNotes(store, found.slice(0, maxEntries));
  const next = found.length > maxEntries ? shown.at(-1)!.sequence : before;
  return {
    entries: shown.map((one) => feedEntry(one, site)),
    ...defined({ next: next > 1 ? next : undefined }),
  };
}

function feedEvent({ type, at, by, group, kind, release, digest, reason }: Event): FeedEvent | undefined {
  const isShown = type.startsWith('release.') && type !== 'release.attested';
  if (!isShown || group === undefined || kind === undefined || release === undefined) return undefined;
  return {
    type,
    at,
    by,
    group,
    kind,
    release,
    ...defined({ digest, reason }),
  };
}

/**
 * Returns events of the releases of one function, by default the newest. `start` counts from the oldest event, so that
 * new ones do not move it.
 */
export async function functionEntries(
  store: FunctionReader,
  fn: FunctionRecord & { takedowns: readonly Takedown[] },
  site: Site,
  start?: number,
): Promise<EntryPage> {
  const { group, kind } = fn;
  const happenings = [
    ...fn.releases.flatMap((release) => ofRelease({ group, kind }, release)),
    ...fn.takedowns.map(
      ({ release, digest, at, by, reason }): FeedEvent => ({
        type: 'release.taken-down',
        at,
        by,
        group,
        kind,
        release,
        digest,
        reason,
      }),
    ),
  ];
  happenings.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  const from = Math.max(happenings.length - (start ?? Number.POSITIVE_INFINITY), 0);
  const shown = await withNotes(store, happenings.slice(from, from + FEED_LIMITS.maxEntries));
  const next = happenings.length - from - shown.length;
  return {
    entries: shown.map((one) => feedEntry(one, site)),
    ...defined({ next: next > 0 ? next : undefined }),
  };
}

/** Adds the notes of published releases. */
async function withNotes<Happening extends FeedEvent>(
  store: FunctionReader,
  happenings: readonly Happening[],
): Promise<Happening[]> {
  const found = await store.notesAndRuns(happenings);
  return happenings.map((one, at) => ({
    ...one,
    ...defined({ notes: one.type === 'release.published' ? found[at]?.notes : undefined }),
  }));
}

function ofRelease(
  name: { group: string; kind: string },
  { release, digest, publishedAt, publishedBy, yanked, deprecated }: ReleaseSummary,
): FeedEvent[] {
  const of = { ...name, release, digest };
  return [
    { ...of, type: 'release.published', at: publishedAt, by: publishedBy },
    ...(yanked === undefined ? [] : [{ ...of, type: 'release.yanked' as const, ...yanked }]),
    ...(deprecated === undefined ? [] : [{ ...of, type: 'release.deprecated' as const, ...deprecated }]),
  ];
}

function feedEntry(
  { type, at, by, group, kind, release, digest = '', reason, notes }: FeedEvent,
  site: Site,
): FeedEntry {
  const name = `${group}/${kind}`;
  // A release that was taken down has no page.
  const page =
    type === 'release.taken-down' ? functionPath({ group, kind }) : releasePath({ group, kind, release });
  return {
    // Both feeds have the same ID for the same event.
    id: permanentId(type, name, release, at),
    title: type === 'release.published' ? `${name} ${release}` : `${name} ${release} ${EVENTS[type]}`,
    link: site.whole(page),
    updated: at,
    author: by,
    summary: reason ?? (notes === undefined ? `Definition ${digest}.` : cutText(notes, MAX_NOTES)),
  };
}
