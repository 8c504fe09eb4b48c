import { type DecidedThrough, type EventType, RevisionConflict } from '@krmhub/catalog';
import { inList, text, type Work } from '../../sql/statement.js';

const later = text<{ type: EventType }>(
  inList(
    (types) =>
      `SELECT type FROM event WHERE sequence > :event AND type IN ${types} ORDER BY sequence LIMIT 1`,
    ':types',
  ),
);

/** Returns the first event of these types after another, by its type. */
export function* typeOfLater(event: number, types: readonly EventType[]): Work<EventType | undefined> {
  return (yield* later.first({ event, types: JSON.stringify(types) }))?.type;
}

/** Throws a RevisionConflict if a decision is outdated. */
export function* refuseOutdated(decided: DecidedThrough | undefined): Work<void> {
  if (decided === undefined) return;
  const type = yield* typeOfLater(decided.event, decided.types);
  if (type !== undefined) throw new RevisionConflict(`what was decided is outdated: ${type}`);
}
