import { type PolicyStore, RevisionConflict } from '@krmhub/catalog';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import { policies } from '../schema/schema.js';

/** Id of the only row of the table. */
const ID = 1;

const current = query((db) => db.select().from(policies));
const currentRevision = query((db) => db.select({ revision: policies.revision }).from(policies));
const applied = text<{ sequence: number }>(
  `SELECT sequence FROM event WHERE sequence > :after AND sequence <= :through AND type = 'policy.applied' LIMIT 1`,
);

/** Returns the revision of the current policies; 0 without any. */
export function* policyRevision(): Work<number> {
  return (yield* currentRevision.first())?.revision ?? 0;
}

export function policyRows({ readOne, write }: Sql): PolicyStore {
  return {
    policies: () =>
      readOne(function* () {
        const row = yield* current.first();
        if (row === undefined) return undefined;
        const { id: _id, ...record } = row;
        return record;
      }),
    appliedPolicies: (after, through) =>
      readOne(function* () {
        return (yield* applied.first({ after, through })) !== undefined;
      }),
    applyPolicies: ({ expectedRevision, event, ...applied }) =>
      write(function* () {
        if ((yield* policyRevision()) !== expectedRevision) {
          throw new RevisionConflict('the policies have changed');
        }
        const record = { ...applied, revision: expectedRevision + 1 };
        yield* change((db) =>
          db
            .insert(policies)
            .values({ id: ID, ...record })
            .onConflictDoUpdate({ target: policies.id, set: record }),
        ).run();
        return yield* appendEvent(event);
      }),
  };
}
