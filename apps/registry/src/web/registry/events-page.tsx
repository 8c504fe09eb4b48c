import { fillPath } from '@krmhub/api/paths';
import { publicEventsPath, releasePath } from '../addresses.js';
import { Pages } from '../parts/pages.js';
import { useSite } from '../site.js';
import { EventList } from './event-list.js';
import type { EventPart } from './read-events.js';

/** What happened in this registry, newest first. */
export function EventsPage({ part: { events, before }, isFirst }: { part: EventPart; isFirst: boolean }) {
  const { at } = useSite();
  return (
    <>
      <h1>Events</h1>
      <p class="lead">
        Every change of this registry, in order. Programs such as mirrors follow{' '}
        <a href={at(fillPath('events', {}))}>the same list as JSON</a>.
      </p>
      {events.length === 0 ? <p>No events.</p> : null}
      <EventList events={events} subject={releasePath} />
      <Pages
        first={isFirst ? undefined : publicEventsPath()}
        next={before === undefined ? undefined : publicEventsPath({ before })}
      />
    </>
  );
}
