import type { GroupOwner } from '@krmhub/catalog';
import { PUBLISHER_CLAIM, publisherClaim } from '@krmhub/catalog/access/owner-text';
import { NOT_VERIFIED } from '@krmhub/schema/facets';
import { ownerPath } from '../addresses.js';
import { useSite } from '../site.js';
import { MissingProof, OwnerProof } from './owner-proof.js';
import { Text } from './text.js';

/**
 * Who a function is from: the owner of its group, with how that was shown, and what its definition says if that is
 * something else. No other component shows the publisher of a definition, because it is free text of its author. Only
 * the owner is a link, so that the text does not stand out like one.
 */
export function PublisherLine({
  owner,
  publisher,
  max = 100,
}: {
  owner: GroupOwner | undefined;
  publisher: string;
  max?: number;
}) {
  const { at } = useSite();
  const claim = publisherClaim(owner, publisher);
  return (
    <>
      {owner === undefined ? (
        NOT_VERIFIED
      ) : (
        <>
          <a href={at(ownerPath(owner.team))}>
            <Text value={owner.displayName} max={max} />
          </a>{' '}
          <OwnerProof owner={owner} />
          <MissingProof owner={owner} />
        </>
      )}
      {claim === undefined ? null : (
        <>
          {owner === undefined ? ': ' : ', '}
          {PUBLISHER_CLAIM} <Text value={claim} max={max} />
        </>
      )}
    </>
  );
}
