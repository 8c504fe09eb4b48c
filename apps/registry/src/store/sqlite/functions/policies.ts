import { type PolicyStore, RevisionConflict } from '@krmhub/catalog';
import type { Connection } from '../connection.js';
import { eventAppender } from '../events/events.js';
import { prepared } from '../prepared.js';
import { policies } from '../schema/schema.js';

/** Id of the only row of the table. */
const ID = 1;

/** Returns the revision of the current policies; 0 without any. */
export function policyRevision({ db }: Pick<Connection, 'db'>): () => number {
  const statement = prepared(() => db.select({ revision: policies.revision }).from(policies).prepare());
  return () => statement.get()?.revision ?? 0;
}

export function policyRows(connection: Connection): PolicyStore {
  const { client, db, read, write } = connection;
  const appendEvent = eventAppender(connection);
  const revision = policyRevision(connection);
  const find = () => {
    const row = db.select().from(policies).get();
    if (row === undefined) return undefined;
    const { id: _id, ...record } = row;
    return record;
  };
  const applied = prepared(() =>
    client
      .prepare<[number, number], number>(
        `SELECT EXISTS (SELECT 1 FROM event WHERE sequence > ? AND sequence <= ? AND type = 'policy.applied')`,
      )
      .pluck(),
  );
  return {
    policies: () => read(find),
    appliedPolicies: (after, through) => read(() => applied.get(after, through) === 1),
    applyPolicies: ({ expectedRevision, event, ...applied }) =>
      write(() => {
        if (revision() !== expectedRevision) {
          throw new RevisionConflict('the policies have changed');
        }
        const record = { ...applied, revision: expectedRevision + 1 };
        db.insert(policies)
          .values({ id: ID, ...record })
          .onConflictDoUpdate({ target: policies.id, set: record })
          .run();
        return appendEvent(event);
      }),
  };
}
