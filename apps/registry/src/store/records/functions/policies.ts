import type { AccessStore, AppliedDocument, EventType, PolicyStore } from '@krmhub/catalog';
import type { Sql } from '../../sql/sql.js';
import { text, type Work } from '../../sql/statement.js';
import { refuseOutdated, typeOfLater } from '../events/decided-through.js';
import * as schema from '../schema/schema.js';
import { RecentTokens } from '../tokens/recent-tokens.js';
import { appliedDocument } from './applied-document.js';
import { endOtherTeams } from './end-teams.js';

const policies = appliedDocument(schema.policies, 'the policies');
const access = appliedDocument(schema.access, 'the Access document');
const behind = text<{ name: string }>(
  `SELECT name FROM catalog WHERE deleted IS NULL
     AND EXISTS (SELECT 1 FROM snapshot WHERE snapshot.catalog = catalog.name)
     AND EXISTS (SELECT 1 FROM event WHERE sequence > catalog.through_event AND event.type = 'access.applied')
   ORDER BY name`,
);

/** Returns the Access document; undefined if none was ever applied. */
export function accessDocument(): Work<AppliedDocument | undefined> {
  return access.read();
}

export function policyRows(sql: Sql): PolicyStore & AccessStore {
  const { readOne, write } = sql;
  const tokens = RecentTokens.of(sql);
  const hasEvent = (type: EventType) => (after: number) =>
    readOne(function* () {
      return (yield* typeOfLater(after, [type])) !== undefined;
    });
  return {
    policies: () => readOne(() => policies.read()),
    appliedPolicies: hasEvent('policy.applied'),
    applyPolicies: (change) => write(() => policies.apply(change)),
    appliedAccess: hasEvent('access.applied'),
    catalogsBehindAccess: () =>
      readOne(function* () {
        return (yield* behind.all()).map(({ name }) => name);
      }),
    access: () => readOne(() => access.read()),
    applyAccess: ({ teams, decided, ...change }) =>
      tokens.write(function* () {
        yield* refuseOutdated(decided);
        const event = yield* access.apply(change);
        const { appliedAt: at, appliedBy: by, origin } = change;
        if (teams !== undefined) yield* endOtherTeams(teams, { at, by, origin });
        return event;
      }),
  };
}
