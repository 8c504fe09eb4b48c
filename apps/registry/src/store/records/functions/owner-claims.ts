import type { OwnerClaimRecord, OwnerClaimStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { asc } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import { ownerClaims } from '../schema/owner-claims.js';

const all = query((db) => db.select().from(ownerClaims).orderBy(asc(ownerClaims.group)));
const remove = text('DELETE FROM owner_claim WHERE group_name = :group');

function* put(claim: OwnerClaimRecord): Work<void> {
  const row = { ...claim, missingSince: claim.missingSince ?? null, problem: claim.problem ?? null };
  yield* change((db) =>
    db.insert(ownerClaims).values(row).onConflictDoUpdate({ target: ownerClaims.group, set: row }),
  ).run();
}

export function ownerClaimRows({ readOne, write }: Sql): OwnerClaimStore {
  return {
    ownerClaims: () =>
      readOne(function* () {
        return (yield* all.all()).map(({ missingSince, problem, ...claim }) => ({
          ...claim,
          ...defined({ missingSince: missingSince ?? undefined, problem: problem ?? undefined }),
        }));
      }),
    putOwnerClaim: (claim, event, origin) =>
      write(function* () {
        yield* put(claim);
        const object = `group/${claim.group}`;
        if (event !== undefined) yield* appendEvent(event, origin, { action: 'owner.claim', object });
      }),
    deleteOwnerClaim: (group, event, origin) =>
      write(function* () {
        if ((yield* remove.run({ group })) === 0) return false;
        yield* appendEvent(event, origin, { action: 'owner.release', object: `group/${group}` });
        return true;
      }),
  };
}
