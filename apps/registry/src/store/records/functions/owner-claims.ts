import { type OwnerClaimRecord, type OwnerClaimStore, RevisionConflict } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { asc } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import { refuseOutdated } from '../events/decided-through.js';
import { ownerClaims } from '../schema/owner-claims.js';

const all = query((db) => db.select().from(ownerClaims).orderBy(asc(ownerClaims.group)));
const one = text<Pick<OwnerClaimRecord, 'team' | 'claimedAt' | 'checkedAt'>>(
  'SELECT team, claimed_at AS "claimedAt", checked_at AS "checkedAt" FROM owner_claim WHERE group_name = :group',
);
export const removeClaimRow = text('DELETE FROM owner_claim WHERE group_name = :group');

/** Looking for a proof takes seconds, in which the claim can be given to another team, end, or be checked by others. */
function* refuseOther(group: string, expected: OwnerClaimRecord | undefined): Work<void> {
  const found = yield* one.first({ group });
  const fields = ['team', 'claimedAt', 'checkedAt'] as const;
  if (fields.every((field) => found?.[field] === expected?.[field])) return;
  throw new RevisionConflict(`the claim to ${group} has changed`);
}

function* put(claim: OwnerClaimRecord): Work<void> {
  const row = { ...claim, missingSince: claim.missingSince ?? null, problem: claim.problem ?? null };
  yield* change((db) =>
    db.insert(ownerClaims).values(row).onConflictDoUpdate({ target: ownerClaims.group, set: row }),
  ).run();
}

/** Returns all claims, by group. */
export function* claimRows(): Work<OwnerClaimRecord[]> {
  return (yield* all.all()).map(({ missingSince, problem, ...claim }) => ({
    ...claim,
    ...defined({ missingSince: missingSince ?? undefined, problem: problem ?? undefined }),
  }));
}

export function ownerClaimRows({ readOne, write }: Sql): OwnerClaimStore {
  return {
    ownerClaims: () => readOne(claimRows),
    putOwnerClaim: (claim, { replaces, event, action = 'owner.claim', origin, decided } = {}) =>
      write(function* () {
        yield* refuseOutdated(decided);
        yield* refuseOther(claim.group, replaces);
        yield* put(claim);
        const object = `group/${claim.group}`;
        if (event !== undefined) yield* appendEvent(event, origin, { action, object });
      }),
    deleteOwnerClaim: (claim, event, origin) =>
      write(function* () {
        const { group } = claim;
        yield* refuseOther(group, claim);
        yield* removeClaimRow.run({ group });
        yield* appendEvent(event, origin, { action: 'owner.release', object: `group/${group}` });
      }),
  };
}
