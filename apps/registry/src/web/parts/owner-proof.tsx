import type { GroupOwner } from '@krmhub/catalog';
import { PROOF_MISSING, PROOF_TEXTS } from '@krmhub/catalog/access/owner-text';
import { Label } from './label.js';
import { Time } from './time.js';

type Proof = Pick<GroupOwner, 'proof' | 'missingSince'>;

/** How the owner of a group was shown. */
export function OwnerProof({ owner: { proof, missingSince } }: { owner: Proof }) {
  return <span class={missingSince === undefined ? 'tone-good' : undefined}>{PROOF_TEXTS[proof]}</span>;
}

/** Says that the proof of an owner is missing now; nothing while it is there. */
export function MissingProof({ owner: { missingSince } }: { owner: Proof }) {
  if (missingSince === undefined) return null;
  return (
    <>
      {' '}
      <Label tone="warning">{PROOF_MISSING}</Label> since <Time at={missingSince} />
    </>
  );
}
