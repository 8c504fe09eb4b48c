import { operateEventsPath, operateReleasePath } from '../addresses.js';
import { Pages } from '../parts/pages.js';
import { EventList } from '../registry/event-list.js';
import type { EventPart } from '../registry/read-events.js';
import { useSite } from '../site.js';
import { Field } from './field.js';

export interface EventsPageData extends EventPart {
  /** Only those of this token or user. */
  by: string | undefined;
  isFirst: boolean;
}

export function EventsPage({ shown: { events, by, isFirst, before } }: { shown: EventsPageData }) {
  const { at } = useSite();
  return (
    <>
      <h1>Events</h1>
      <form class="form" action={at(operateEventsPath())}>
        <Field field="by" label="By" value={by ?? ''} maxlength={200}>
          Name of a token; empty for all.
        </Field>
        <div class="buttons">
          <button type="submit">Show</button>
        </div>
      </form>
      {events.length === 0 ? <p>No events{before === undefined ? '' : ' here'}.</p> : null}
      <EventList
        events={events}
        subject={operateReleasePath}
        author={({ by: one }) => operateEventsPath({ by: one })}
      />
      <Pages
        first={isFirst ? undefined : operateEventsPath({ by })}
        next={before === undefined ? undefined : operateEventsPath({ by, before })}
      />
    </>
  );
}
