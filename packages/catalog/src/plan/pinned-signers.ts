import type { Takedown, TakenDownSigner } from '@krmhub/schema';
import { revocationReason } from '../policy/judge-signature.js';
import { signedParts } from '../policy/signature-verdict.js';
import { describeSigner, isSameSigner, reusedName, type SigningPolicy } from '../policy/signing-policy.js';
import type { FunctionRecord, ReleaseBundle, ReleaseSignature } from '../ports/records.js';

/** Signers of earlier releases, one of which a later release of the function needs if no policy covers it. */
export interface PinnedSigners {
  /** Each once; empty if no earlier release was signed. */
  signers: TakenDownSigner[];
  /** Who signed which release, for messages. */
  description: string;
}

/**
 * Returns the signers of a function's releases, also of those that were taken down: otherwise, after a takedown of all
 * signed releases, anyone could sign in place of their owner.
 */
export function pinnedSigners(
  current: FunctionRecord | undefined,
  takedowns: readonly Takedown[],
): PinnedSigners {
  const stored = (current?.releases ?? []).reduce<TakenDownSigner[]>(
    (all, release) => mergeSigners(all, releaseSigners(release)),
    [],
  );
  const tombstone = takedowns.find(({ signers = [] }) => signers.length > 0);
  const signers = takedowns.reduce<TakenDownSigner[]>(
    (all, { signers = [] }) => mergeSigners(all, signers),
    stored,
  );
  const description =
    stored.length > 0 || tombstone === undefined
      ? `previous releases are signed by ${describeFirst(stored)}`
      : `release ${tombstone.release}, which was taken down, was signed by ${describeFirst(tombstone.signers ?? [])}`;
  return { signers, description };
}

/**
 * Returns why a release is not signed as the earlier releases of the function, for functions without a policy. Every
 * signature must be by an earlier signer: otherwise, one signature could bring in another signer. A signer that any
 * policy revokes is never trusted.
 */
export function pinViolation({
  current,
  takedowns,
  signatures,
  problems = [],
  policies,
}: {
  current: FunctionRecord | undefined;
  takedowns: readonly Takedown[];
  signatures: readonly ReleaseSignature[];
  problems?: readonly string[];
  policies: readonly SigningPolicy[];
}): string | undefined {
  const revoked = signatures
    .map(({ signer }) => revocationReason(policies, signer))
    .find((reason) => reason !== undefined);
  if (revoked !== undefined) return revoked;
  const { signers, description } = pinnedSigners(current, takedowns);
  if (signers.length === 0) return undefined;
  if (signatures.length === 0) {
    return `${description}, and ${problems.length === 0 ? 'this one is not' : problems.join('; ')}`;
  }
  // Of an unidentified key it cannot be said that it signed again.
  const isPinned = ({ signer }: ReleaseSignature) =>
    signers.some((pinned) => pinned.type !== 'unidentified' && isSameSigner(pinned, signer));
  const stranger = signatures.find((signature) => !isPinned(signature));
  if (stranger === undefined) return undefined;
  const reused = signers.flatMap((pinned) =>
    pinned.type === 'identity' && describeSigner(pinned) === describeSigner(stranger.signer)
      ? (reusedName(stranger.signer, pinned) ?? [])
      : [],
  );
  const who = [describeSigner(stranger.signer), ...reused.slice(0, 1)].join(', ');
  return `it is signed by ${who}, and ${description}`;
}

/** Returns who signed a release, each signer once. */
export function releaseSigners(release: { bundles?: readonly ReleaseBundle[] }): TakenDownSigner[] {
  const { signatures, hasUnidentified } = signedParts(release);
  const known = signatures.map(({ signer }) => signer);
  return mergeSigners([], hasUnidentified === true ? [...known, { type: 'unidentified' }] : known);
}

/** Returns the signers of two lists, each once, in their order. */
export function mergeSigners(
  first: readonly TakenDownSigner[],
  second: readonly TakenDownSigner[],
): TakenDownSigner[] {
  return [...first, ...second].filter(
    (signer, at, all) => all.findIndex((one) => isSamePin(one, signer)) === at,
  );
}

/** Reports whether the second list has a signer that the first one lacks. */
export function lacksSigner(first: readonly TakenDownSigner[], second: readonly TakenDownSigner[]): boolean {
  return second.some((signer) => !first.some((one) => isSamePin(one, signer)));
}

function isSamePin(a: TakenDownSigner, b: TakenDownSigner): boolean {
  if (a.type === 'unidentified' || b.type === 'unidentified') return a.type === b.type;
  return isSameSigner(a, b);
}

function describeFirst(signers: readonly TakenDownSigner[]): string {
  for (const signer of signers) if (signer.type !== 'unidentified') return describeSigner(signer);
  return 'a key that this registry could not identify';
}
