import type { FacetName } from '@krmhub/schema/facets';
import { ShortSigner } from './signer.js';
import { NamePart } from './text.js';

/** A value of a facet, in the form of its kind: the name of a group, or a short signer. */
export function FacetText({
  facet,
  value,
  max,
}: {
  facet: FacetName | undefined;
  value: string;
  max: number;
}) {
  return facet === 'group' ? <NamePart value={value} /> : <ShortSigner value={value} max={max} />;
}
