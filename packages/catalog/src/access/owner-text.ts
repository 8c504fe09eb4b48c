import { FACETS, NOT_VERIFIED } from '@krmhub/schema/facets';
import type { GroupOwner, OwnerProof } from './access-rules.js';

/** How the owner of a group was shown, as people read it. */
export const PROOF_TEXTS: Record<OwnerProof, string> = {
  administrator: 'verified by an administrator',
  dns: 'verified by DNS',
  https: 'verified by HTTPS',
};

/** The mark of an owner whose proof is missing. */
export const PROOF_MISSING = 'proof missing';

/** Returns how the owner of a group was shown, and whether that is so no more. */
export function describeProof({ proof, missingSince }: Pick<GroupOwner, 'proof' | 'missingSince'>): string {
  const missing = missingSince === undefined ? '' : `, ${PROOF_MISSING} since ${missingSince.slice(0, 10)}`;
  return `${PROOF_TEXTS[proof]}${missing}`;
}

/** Introduces the text of the field `publisher`, which nothing verifies. */
export const PUBLISHER_CLAIM = FACETS.publisher.title.toLowerCase();

/** Returns who a definition says it is published by; undefined if that is nobody, or the owner of its group. */
export function publisherClaim(owner: GroupOwner | undefined, publisher: string): string | undefined {
  return publisher === '' || publisher === owner?.displayName ? undefined : publisher;
}

/** Returns who a function is from, on one line: the owner of its group, and what its definition claims. */
export function ownerText(owner: GroupOwner | undefined, publisher: string): string {
  const claim = publisherClaim(owner, publisher);
  const claimed = claim === undefined ? '' : `${PUBLISHER_CLAIM} ${claim}`;
  if (owner === undefined) return claim === undefined ? NOT_VERIFIED : `${NOT_VERIFIED}: ${claimed}`;
  const known = `${owner.displayName} (${describeProof(owner)})`;
  return claim === undefined ? known : `${known}, ${claimed}`;
}
