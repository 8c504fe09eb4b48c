import type { Event } from '@krmhub/catalog';
import { operateEventsPath, operateReleasePath } from '../addresses.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

export interface EventsPageData {
  /** Newest first. */
  events: readonly Event[];
  /** Only those of this token or user. */
  by: string | undefined;
  isFirst: boolean;
  /** Sequence below which older events are; absent for the oldest. */
  before?: number | undefined;
}

export function EventsPage({ shown: { events, by, isFirst, before } }: { shown: EventsPageData }) {
  const { at } = useSite();
  return (
    <>
      <h1>Events</h1>
      <form class="form" action={at(operateEventsPath())}>
        <p class="entry">
          <label for="by">By</label>
          <span class="quiet" id="by-hint">
            Name of a token; empty for all.
          </span>
          <input id="by" name="by" value={by ?? ''} maxlength={200} aria-describedby="by-hint" />
        </p>
        <div class="buttons">
          <button type="submit">Show</button>
        </div>
      </form>
      {events.length === 0 ? <p>No events{before === undefined ? '' : ' here'}.</p> : null}
      <ul class="operate-list">
        {events.map((event) => (
          <li id={`event-${event.sequence}`}>
            <p>
              <Time at={event.at} isPrecise /> <b>{event.type}</b> <Subject event={event} /> by{' '}
              <a href={at(operateEventsPath({ by: event.by }))}>
                <Text value={event.by} max={100} />
              </a>
            </p>
            {event.reason === undefined ? null : (
              <p class="quiet">
                <Text value={event.reason} max={500} />
              </p>
            )}
          </li>
        ))}
      </ul>
      <Pages
        first={isFirst ? undefined : operateEventsPath({ by })}
        next={before === undefined ? undefined : operateEventsPath({ by, before })}
      />
    </>
  );
}

function Subject({ event: { type, group, kind, release, catalog, serial } }: { event: Event }) {
  const { at } = useSite();
  if (group !== undefined && kind !== undefined && release !== undefined) {
    const name = `${group}/${kind}@${release}`;
    if (type === 'release.taken-down') return name;
    return <a href={at(operateReleasePath({ group, kind, release }))}>{name}</a>;
  }
  if (catalog !== undefined) return <>{`${catalog}${serial === undefined ? '' : ` ${serial}`}`}</>;
  return null;
}
