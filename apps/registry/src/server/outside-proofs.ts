import type { ProofOutcome } from '@krmhub/catalog';
import { type FindProof, proofFinder, sharedProofs } from '../owners/find-proof.js';
import { ISSUER_LIMITS, IssuerKeys } from '../trusted-publishers/issuer-keys.js';
import { type FetchFile, fileFetcher } from '../upstreams/fetch-file.js';
import type { Config } from './config.js';

/** Replacements of servers outside, for tests; absent parts for DNS and HTTPS. */
export interface OutsideServers {
  findProof?: FindProof<ProofOutcome>;
  /** Fetches what issuers of CI providers serve. */
  fetchIssuer?: FetchFile;
}

/** Returns what servers outside show: proofs of owners, and the keys of issuers. */
export function outsideProofs(
  config: Partial<Pick<Config, 'dnsServers' | 'sourceAddresses'>>,
  { findProof, fetchIssuer }: OutsideServers,
  { temporaryFolder, clock }: { temporaryFolder: string; clock: () => Date },
): { findProof: FindProof; issuerKeys: IssuerKeys } {
  const fetch = fetchIssuer ?? fileFetcher({ ...config, temporaryFolder, ...ISSUER_LIMITS });
  return {
    findProof: sharedProofs(findProof ?? proofFinder(config, { temporaryFolder }), clock),
    issuerKeys: new IssuerKeys({ fetch, clock }),
  };
}
