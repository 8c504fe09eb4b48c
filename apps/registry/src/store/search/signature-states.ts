import {
  judgeSignatures,
  type ReleaseAttestation,
  type ReleaseSignature,
  type SearchQuery,
  type SignatureState,
  type SigningPolicy,
} from '@krmhub/catalog';
import type { DocumentRow } from './document-rows.js';

/** The signing policies that a search judges signatures by. */
export type SearchTrust = NonNullable<SearchQuery['trust']>;

export const NO_POLICIES: SearchTrust = { revision: 0, policies: [] };

interface SignedRow extends Pick<DocumentRow, 'release' | 'signatures' | 'attestations'> {
  group: string;
  kind: string;
}

/** Returns the state of the signatures of a displayed release, as results show it. */
export function signatureState({ policies }: SearchTrust, row: SignedRow): SignatureState {
  const { group, kind, release } = row;
  // Policies apply to releases only.
  if (release === null || (policies.length === 0 && row.signatures === '[]')) return 'unsigned';
  return judgeSignatures(
    policies as readonly SigningPolicy[],
    { group, kind, release },
    {
      signatures: JSON.parse(row.signatures) as ReleaseSignature[],
      attestations: JSON.parse(row.attestations) as ReleaseAttestation[],
    },
  ).state;
}
