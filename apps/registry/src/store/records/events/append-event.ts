import type { Event, NewEvent } from '@krmhub/catalog';
import { inserter } from '../../sql/insert.js';
import type { StatementCall, Work } from '../../sql/statement.js';
import { events } from '../schema/schema.js';

const insert = inserter(events);

/** Appends an event. */
export function* appendEvent(event: NewEvent): Work<Event> {
  return { ...event, sequence: yield* insert(event) };
}

/** Returns the insertion of an event for `together`, whose last change returns its sequence as `id`. */
export function eventChange(event: NewEvent): StatementCall {
  return insert.later(event);
}
