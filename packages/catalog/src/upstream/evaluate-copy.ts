import type { Digest, SourceProblem } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isNamedSigner } from '../policy/evaluate-signatures.js';
import { describeSigner, isSameSigner, type SigningPolicy } from '../policy/signing-policy.js';
import type { Signer, Time } from '../ports/records.js';
import type { SourceCopy, SourceRecord, SourceSignature } from '../ports/source-records.js';

/** A valid signature of the exact bytes of a copy, by any signer. */
export interface VerifiedSignature {
  signer: Signer;
  /** The signing time, if a log or a timestamp authority verifies it. */
  signedAt?: Time;
  /** The claim, if the signature identifies a snapshot of a catalog. */
  snapshot?: SourceCopy['snapshot'];
}

/** The verification results of the bundles of a copy. */
export interface VerificationResult {
  signatures: readonly VerifiedSignature[];
  /** Why other bundles are not valid. */
  problems: readonly string[];
}

export interface Refusal {
  problem: SourceProblem;
  message: string;
  /** The other catalog that the signature names. */
  signedAs?: string;
}

/** The stored signature state of an accepted copy. */
export type AcceptedCopy = Pick<SourceCopy, 'signatures' | 'snapshot'> & Pick<SourceRecord, 'highest'>;

/**
 * Decides whether a copy can replace the last good copy: a catalog signed by a trusted signer must stay signed, serials
 * only increase, a serial has only one digest, and the signature must not be expired. Signers without a policy have no
 * effect, because an attacker who changes the bytes could also sign them. `name` is that of the catalog at the address
 * (`signedCatalogName`): a signature of another catalog of the same registry counts as none.
 */
export function evaluateCopy(input: {
  record: SourceRecord;
  name?: string | undefined;
  policies: readonly SigningPolicy[];
  digest: Digest;
  found: VerificationResult;
  now: Time;
}): { refused: Refusal } | { accepted: AcceptedCopy } {
  const { policies, digest, now, name } = input;
  const record = name === undefined ? input.record : withoutOther(input.record, name);
  const isOther = ({ snapshot }: VerifiedSignature) =>
    name !== undefined && snapshot !== undefined && snapshot.catalog !== name;
  const found = { ...input.found, signatures: input.found.signatures.filter((one) => !isOther(one)) };
  const isNamed = ({ signer }: { signer: Signer }) => isNamedSigner(policies, signer);
  const good = found.signatures.filter(isNamed);
  const other =
    good.length > 0 ? undefined : input.found.signatures.find((one) => isNamed(one) && isOther(one));
  if (other !== undefined) {
    const signedAs = other.snapshot!.catalog;
    const message = `it is signed as a snapshot of ${signedAs}, but its address is that of ${name}`;
    return { refused: { problem: 'signature', message, signedAs } };
  }
  // Another URL can be another publisher: an administrator chose it in the recipe.
  const binding = record.copy?.formerUrl === undefined ? record.copy?.signatures.find(isNamed) : undefined;
  const claim = newestClaim(good);
  const refused =
    (binding && weakerThanBefore(record.copy!, binding, good, claim, found)) ??
    (claim && staleClaim(record.highest, claim, digest, now));
  if (refused !== undefined) return { refused };
  const highest = claim === undefined ? record.highest : { serial: claim.serial, digest };
  return {
    accepted: {
      signatures: withReceivedTimes(record.copy, digest, found.signatures, now),
      ...defined({ snapshot: claim, highest }),
    },
  };
}

/** Forgets what was accepted as another catalog: its serials say nothing about this one. */
function withoutOther(record: SourceRecord, name: string): SourceRecord {
  const { copy, highest: _, ...rest } = record;
  if (copy?.snapshot === undefined || copy.snapshot.catalog === name) return record;
  const { snapshot: __, ...plain } = copy;
  return { ...rest, copy: plain };
}

type Claim = NonNullable<SourceCopy['snapshot']>;

function newestClaim(signatures: readonly VerifiedSignature[]): Claim | undefined {
  return signatures
    .flatMap(({ snapshot }) => snapshot ?? [])
    .sort((a, b) => b.serial - a.serial || Date.parse(b.expires) - Date.parse(a.expires))[0];
}

function weakerThanBefore(
  { snapshot: before }: SourceCopy,
  { signer }: SourceSignature,
  good: readonly VerifiedSignature[],
  claim: Claim | undefined,
  { signatures, problems }: VerificationResult,
): Refusal | undefined {
  const was = `it was signed by ${describeSigner(signer)}`;
  if (good.length === 0) {
    const [other] = signatures;
    const is =
      other !== undefined
        ? `is now signed by ${describeSigner(other.signer)}, and no policy of the recipe trusts this signer`
        : problems.length === 0
          ? 'is no longer signed'
          : `its signature is no longer valid: ${problems[0]}`;
    return { problem: 'signature', message: `${was}, but ${is}` };
  }
  if (before === undefined) return undefined;
  const named = `snapshot ${before.serial} of the catalog ${before.catalog}`;
  if (claim === undefined) {
    return {
      problem: 'signature',
      message: `${was} as ${named}, but its signature no longer contains the snapshot`,
    };
  }
  if (claim.catalog === before.catalog) return undefined;
  return {
    problem: 'signature',
    message: `${was} as ${named}, but is now signed as a snapshot of ${claim.catalog}`,
  };
}

function staleClaim(
  highest: SourceRecord['highest'],
  { serial, expires }: Claim,
  digest: Digest,
  now: Time,
): Refusal | undefined {
  if (highest !== undefined && serial < highest.serial) {
    return {
      problem: 'rollback',
      message: `it is snapshot ${serial}, but snapshot ${highest.serial} was seen before`,
    };
  }
  if (serial === highest?.serial && digest !== highest.digest) {
    return {
      problem: 'equivocation',
      message: `the digest of snapshot ${serial} changed from ${highest.digest} to ${digest}`,
    };
  }
  if (Date.parse(expires) > Date.parse(now)) return undefined;
  return { problem: 'frozen', message: `the signature of snapshot ${serial} expired at ${expires}` };
}

/** For the same bytes, a signature keeps its age. */
function withReceivedTimes(
  copy: SourceCopy | undefined,
  digest: Digest,
  found: readonly VerifiedSignature[],
  now: Time,
): SourceSignature[] {
  const known = copy?.digest === digest ? copy.signatures : [];
  const signatures: SourceSignature[] = [];
  for (const { signer, signedAt } of found) {
    if (signatures.some((one) => isSameSigner(one.signer, signer) && one.signedAt === signedAt)) continue;
    const before = known.find((one) => isSameSigner(one.signer, signer) && one.signedAt === signedAt);
    signatures.push({
      signer,
      ...defined({ signedAt }),
      receivedAt: before?.receivedAt ?? now,
    });
  }
  return signatures;
}
