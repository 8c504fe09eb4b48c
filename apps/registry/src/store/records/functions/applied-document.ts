import { type AccessStore, type AppliedDocument, RevisionConflict } from '@krmhub/catalog';
import { change, query, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import type { access, policies } from '../schema/schema.js';

/** Id of the only row of the table. */
const ID = 1;

/** Returns what reads and replaces the only row of a table of an applied document. */
export function appliedDocument(table: typeof policies | typeof access, what: string) {
  const current = query((db) => db.select().from(table));
  const currentRevision = query((db) => db.select({ revision: table.revision }).from(table));
  return {
    *read(): Work<AppliedDocument | undefined> {
      const row = yield* current.first();
      if (row === undefined) return undefined;
      const { id: _id, ...record } = row;
      return record;
    },
    /** Returns 0 without a document. */
    *revision(): Work<number> {
      return (yield* currentRevision.first())?.revision ?? 0;
    },
    /** Throws a RevisionConflict if the document has another revision than the expected one. */
    *apply({ expectedRevision, event, origin, ...applied }: Parameters<AccessStore['applyAccess']>[0]) {
      if ((yield* this.revision()) !== expectedRevision) throw new RevisionConflict(`${what} changed`);
      const record = { ...applied, revision: expectedRevision + 1 };
      yield* change((db) =>
        db
          .insert(table)
          .values({ id: ID, ...record })
          .onConflictDoUpdate({ target: table.id, set: record }),
      ).run();
      return yield* appendEvent(event, origin);
    },
  };
}
