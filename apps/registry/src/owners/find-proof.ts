/**
 * Owners of groups: claims of teams, and the proofs by which a domain confirms them.
 *
 * A group is a domain name. Who controls the domain publishes a line that names this registry and a team, as a TXT record
 * or as a file (packages/catalog/src/access/owner-claims.ts). A claim is a row; the leader looks for its proof again
 * every week (owner-checks.ts).
 *
 * @module
 */

import { Resolver } from 'node:dns/promises';
import { hasProof, type OwnerClaim, PROOF_PATH, type ProofOutcome, proofRecord } from '@krmhub/catalog';
import { parseUrl } from '@krmhub/schema/parse-url';
import { type FetchFile, fileFetcher } from '../upstreams/fetch-file.js';
import { shareWork } from '../workers/locks/shared-work.js';

/** Finds the proof of a claim in the registry with this URL. */
export type FindProof<Found = FoundProof> = (claim: OwnerClaim, registry: string) => Promise<Found>;

/** What a look for a proof found, and when it began. */
export type FoundProof = ProofOutcome & { at: Date };

export interface ProofSettings {
  /** Addresses of name servers; absent for those of the system. */
  dnsServers?: readonly string[];
  /** Private addresses that may be asked for proofs, as for sources. */
  sourceAddresses?: readonly string[];
}

/** Milliseconds for one question to a name server, and how often it is asked. */
const DNS_LIMITS = { timeout: 3_000, tries: 2 };
/** Milliseconds for a file. */
const FILE_MILLISECONDS = 15_000;
/** Bytes of a proof. */
const MAX_BYTES = 16_384;
/** TXT records of a name that are read. */
const MAX_RECORDS = 100;

/** Returns what looks for proofs, once at a time for the same claim. */
export function sharedProofs(find: FindProof<ProofOutcome>, clock: () => Date): FindProof {
  const running = new Map<string, Promise<FoundProof>>();
  return ({ group, team, proof }, registry) =>
    shareWork(running, JSON.stringify([group, team, proof]), async () => {
      const at = clock();
      return { ...(await find({ group, team, proof }, registry)), at };
    });
}

/** Returns what looks for a proof. */
export function proofFinder(
  { dnsServers, sourceAddresses = [] }: ProofSettings,
  options: Pick<Parameters<typeof fileFetcher>[0], 'temporaryFolder' | 'network'>,
): FindProof<ProofOutcome> {
  const fetchFile = fileFetcher({
    ...options,
    sourceAddresses,
    maxBytes: MAX_BYTES,
    milliseconds: FILE_MILLISECONDS,
  });
  return async ({ group, team, proof }, registry) => {
    const found = proof === 'dns' ? await readRecords(group, dnsServers) : await readFile(fetchFile, group);
    if ('problem' in found) return { found: false, problem: found.problem };
    if (found.texts.some((text) => hasProof(text, registry, team))) return { found: true };
    const where = proof === 'dns' ? `the TXT records of ${proofRecord(group)} do` : `${fileUrl(group)} does`;
    return { found: false, problem: `${where} not name this registry and the team "${team}"` };
  };
}

type Texts = { texts: string[] } | { problem: string };

async function readRecords(group: string, servers: readonly string[] | undefined): Promise<Texts> {
  const resolver = new Resolver(DNS_LIMITS);
  const name = proofRecord(group);
  try {
    if (servers !== undefined) resolver.setServers(servers);
    const records = await resolver.resolveTxt(name);
    return { texts: records.slice(0, MAX_RECORDS).map((parts) => parts.join('')) };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ENOTFOUND' || code === 'ENODATA';
    return { problem: isMissing ? `${name} has no TXT record` : `cannot look up ${name}: ${code}` };
  }
}

function fileUrl(group: string): string {
  return `https://${group}${PROOF_PATH}`;
}

async function readFile(fetchFile: FetchFile, group: string): Promise<Texts> {
  const url = fileUrl(group);
  // URLs have other notations of addresses, such as `127.1`.
  if (parseUrl(url)?.host !== group) return { problem: `${group} is not the name of a host` };
  try {
    return { texts: [new TextDecoder().decode(await fetchFile(url))] };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
