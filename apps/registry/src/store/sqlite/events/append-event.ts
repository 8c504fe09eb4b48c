import type { Event, NewEvent } from '@krmhub/catalog';
import { inserter } from '../../sql/insert.js';
import type { Work } from '../../sql/statement.js';
import { events } from '../schema/schema.js';

const insert = inserter(events);

/** Appends an event. */
export function* appendEvent(event: NewEvent): Work<Event> {
  return { ...event, sequence: yield* insert(event) };
}
