import { type DecidedThrough, RevisionConflict } from '@krmhub/catalog';
import { inList, text, type Work } from '../../sql/statement.js';

const later = text<{ type: string }>(
  inList(
    (types) =>
      `SELECT type FROM event WHERE sequence > :event AND type IN ${types} ORDER BY sequence LIMIT 1`,
    ':types',
  ),
);

/** Throws a RevisionConflict if a decision is outdated. */
export function* refuseOutdated(decided: DecidedThrough | undefined): Work<void> {
  if (decided === undefined) return;
  const { event, types } = decided;
  const found = yield* later.first({ event, types: JSON.stringify(types) });
  if (found !== undefined) throw new RevisionConflict(`what was decided is outdated: ${found.type}`);
}
