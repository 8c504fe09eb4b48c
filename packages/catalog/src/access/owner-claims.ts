import { defined } from '@krmhub/schema/defined';
import type { OwnerClaim } from './access-rules.js';

/** A claim of a team to a group, and how its proof was found. Times are RFC 3339 in UTC. */
export interface OwnerClaimRecord extends OwnerClaim {
  claimedAt: string;
  claimedBy: string;
  /** When the proof was last looked for. */
  checkedAt: string;
  /** Why the proof was not found. */
  problem?: string;
}

/** What looking for a proof found. */
export type ProofOutcome = { found: true } | { found: false; problem: string };

const DAY = 86_400_000;
/** A proof is looked for this often. */
export const RECHECK_MILLISECONDS = 7 * DAY;
/** A missing proof is looked for more often. */
const RECHECK_MISSING_MILLISECONDS = DAY;
/** An owner stays one for this long while its proof is missing: a server can be away, and a record be restored. */
export const MISSING_MILLISECONDS = 14 * DAY;

/** The file at `https://GROUP/` that proves an owner. */
export const PROOF_PATH = '/.well-known/krmhub-owner';

/** Returns the name whose TXT record proves the owner of a group. */
export function proofRecord(group: string): string {
  return `_krmhub.${group}`;
}

/** Returns the text of a TXT record or file that proves the claim of a team in a registry. */
export function proofText(registry: string, team: string): string {
  return `krmhub-owner registry=${registry} team=${team}`;
}

/** Reports whether a text contains the proof: one line that says it, with any number of spaces between the fields. */
export function hasProof(text: string, registry: string, team: string): boolean {
  const wanted = proofText(registry, team);
  return text.split(/\r?\n/).some(
    (line) =>
      line
        .trim()
        .split(/[ \t]+/)
        .join(' ') === wanted,
  );
}

/** Reports whether the proof of a claim must be looked for again: also after a check by a clock that was fast. */
export function isCheckDue({ checkedAt, missingSince }: OwnerClaimRecord, now: Date): boolean {
  const interval = missingSince === undefined ? RECHECK_MILLISECONDS : RECHECK_MISSING_MILLISECONDS;
  const elapsed = now.getTime() - Date.parse(checkedAt);
  return elapsed < 0 || elapsed >= interval;
}

/** Returns the claim after a check; undefined if the proof is missing for so long that the claim ends. */
export function checkedClaim(
  claim: OwnerClaimRecord,
  outcome: ProofOutcome,
  now: Date,
): OwnerClaimRecord | undefined {
  const { missingSince, problem: _, ...rest } = claim;
  const checkedAt = now.toISOString();
  if (outcome.found) return { ...rest, checkedAt };
  // What a clock that was fast stored would keep the claim for ever.
  const since = missingSince !== undefined && missingSince < checkedAt ? missingSince : checkedAt;
  if (now.getTime() - Date.parse(since) >= MISSING_MILLISECONDS) return undefined;
  return { ...rest, checkedAt, ...defined({ missingSince: since, problem: outcome.problem }) };
}
