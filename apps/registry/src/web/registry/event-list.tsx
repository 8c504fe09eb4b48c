import type { Event } from '@krmhub/catalog';
import { EVENTS } from '@krmhub/schema';
import { QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

export interface EventLinks {
  /** Returns the path of the page about a release. */
  subject(release: { group: string; kind: string; release: string }): string;
  /** Returns the path of the page about who caused an event; absent without such pages. */
  author?(event: Event): string;
}

/** What happened, when, and by whom. */
export function EventList({ events, subject, author }: EventLinks & { events: readonly Event[] }) {
  const { at } = useSite();
  if (events.length === 0) return null;
  return (
    <ul class="operate-list">
      {events.map((event) => {
        const by = <Text value={event.by} max={100} />;
        return (
          <li id={`event-${event.sequence}`}>
            <p>
              <Time at={event.at} /> <b title={event.type}>{EVENTS[event.type]}</b>{' '}
              <Subject event={event} path={subject} /> by{' '}
              {author === undefined ? by : <a href={at(author(event))}>{by}</a>}
            </p>
            {event.reason === undefined ? null : (
              <p class="quiet">
                <Text value={event.reason} max={500} />
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Subject({
  event: { type, group, kind, release, catalog, serial },
  path,
}: {
  event: Event;
  path: EventLinks['subject'];
}) {
  const { at } = useSite();
  if (group !== undefined && kind !== undefined && release !== undefined) {
    const name = <QualifiedName name={{ group, kind, release }} />;
    if (type === 'release.taken-down') return name;
    return <a href={at(path({ group, kind, release }))}>{name}</a>;
  }
  if (catalog !== undefined) return <>{`${catalog}${serial === undefined ? '' : ` ${serial}`}`}</>;
  return null;
}
