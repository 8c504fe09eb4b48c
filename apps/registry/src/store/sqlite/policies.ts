import { type CatalogStore, RevisionConflict } from '@krmhub/catalog';
import { policies } from '../schema/sqlite.js';
import type { Connection } from './connection.js';
import { eventAppender } from './events.js';

/** Of the table's one row. */
const ID = 1;

export function policyRows(connection: Connection): Pick<CatalogStore, 'policies' | 'applyPolicies'> {
  const { db, read, write } = connection;
  const appendEvent = eventAppender(connection);
  const find = () => {
    const row = db.select().from(policies).get();
    if (row === undefined) return undefined;
    const { id: _id, ...record } = row;
    return record;
  };
  return {
    policies: () => read(find),
    applyPolicies: ({ expectedText, event, ...record }) =>
      write(() => {
        if (find()?.text !== expectedText) {
          throw new RevisionConflict('the policies were changed by somebody else');
        }
        db.insert(policies)
          .values({ id: ID, ...record })
          .onConflictDoUpdate({ target: policies.id, set: record })
          .run();
        return appendEvent(event);
      }),
  };
}
