import type { Owner } from '@krmhub/api/owner-model';
import { PROOF_TEXTS } from '@krmhub/catalog/access/owner-text';
import { GroupName } from '../parts/group-name.js';
import { Label } from '../parts/label.js';
import { Time } from '../parts/time.js';

/** Groups of a list. The API has all. */
const MAX_GROUPS = 200;

/** Returns how the owner of some groups was shown, each way once. */
export function proofsOf(groups: readonly Owner[]): string[] {
  return [...new Set(groups.map(({ proof }) => PROOF_TEXTS[proof]))].sort();
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

function Proof({ owner: { proof, checkedAt, missingSince } }: { owner: Owner }) {
  return (
    <>
      <span class={missingSince === undefined ? 'tone-good' : undefined}>{PROOF_TEXTS[proof]}</span>
      {checkedAt === undefined ? null : (
        <>
          , checked <Time at={checkedAt} />
        </>
      )}
      {missingSince === undefined ? null : (
        <>
          {' '}
          <Label tone="warning">proof missing</Label> since <Time at={missingSince} />
        </>
      )}
    </>
  );
}
