import type { Owner } from '@krmhub/api/owner-model';
import { PROOF_MISSING, PROOF_TEXTS } from '@krmhub/catalog/access/owner-text';
import { GroupName } from '../parts/group-name.js';
import { MissingProof, OwnerProof } from '../parts/owner-proof.js';
import { Time } from '../parts/time.js';

/** Groups of a list. The API has all. */
const MAX_GROUPS = 200;

/** Returns how the owner of some groups was shown, each way once, and how many proofs are missing now. */
export function proofsOf(groups: readonly Owner[]): string[] {
  const proofs = [...new Set(groups.map(({ proof }) => PROOF_TEXTS[proof]))].sort();
  const missing = groups.filter(({ missingSince }) => missingSince !== undefined).length;
  if (missing === 0) return proofs;
  return [
    ...proofs,
    groups.length === 1 ? PROOF_MISSING : `${PROOF_MISSING} for ${missing} of ${groups.length}`,
  ];
}

/** Lists groups with how their owner was shown, and when that was last checked. */
export function GroupList({ groups }: { groups: readonly Owner[] }) {
  if (groups.length === 0) return null;
  return (
    <ul class="places plain-list">
      {groups.slice(0, MAX_GROUPS).map((owner) => (
        <li>
          <p class="place-name">
            <GroupName group={owner.group} />
          </p>
          <p>
            <Proof owner={owner} />
          </p>
        </li>
      ))}
      {groups.length > MAX_GROUPS ? <li>and {groups.length - MAX_GROUPS} more in the JSON</li> : null}
    </ul>
  );
}

function Proof({ owner }: { owner: Owner }) {
  const { checkedAt } = owner;
  return (
    <>
      <OwnerProof owner={owner} />
      {checkedAt === undefined ? null : (
        <>
          , checked <Time at={checkedAt} />
        </>
      )}
      <MissingProof owner={owner} />
    </>
  );
}
