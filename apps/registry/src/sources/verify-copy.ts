import { setImmediate } from 'node:timers/promises';
import type { FoundSignature, FoundSignatures, SigningPolicy } from '@krmhub/catalog';
import { type Digest, type PublicKey, readPublicKey, SNAPSHOT_FORMS } from '@krmhub/schema';
import {
  SIGNATURE_PREDICATE,
  SNAPSHOT_PREDICATE,
  type Statement,
  snapshotClaim,
  type TrustedRoot,
  type Verification,
  verifyBundle,
} from '@krmhub/signing';

export interface FetchedCopy {
  bytes: Uint8Array;
  /** Of the bytes. */
  digest: Digest;
  /** Digest of an OCI manifest that has the bytes, of which a signature may speak instead. */
  manifest?: string;
}

/** Holds bundles against a copy; between two of them the thread does other work. */
export async function verifyCopy(
  bundles: readonly Uint8Array[],
  copy: FetchedCopy,
  trust: { keys: readonly PublicKey[]; root: TrustedRoot },
): Promise<FoundSignatures> {
  const signatures: FoundSignature[] = [];
  const problems: string[] = [];
  const { bytes, digest, manifest } = copy;
  const digests = [digest, ...(manifest === undefined ? [] : [manifest])];
  for (const bundle of bundles) {
    await setImmediate();
    const verification = verifyBundle(bundle, { digests, bytes }, trust);
    const found = signatureIn(verification, copy);
    if (typeof found === 'string') problems.push(found);
    else if (found !== undefined) signatures.push(found);
  }
  return { signatures, problems };
}

/** In words, why it is none; undefined for what says something else of the copy. */
function signatureIn(verification: Verification, copy: FetchedCopy): FoundSignature | string | undefined {
  const { verified, checks, signer, signedAt, statement } = verification;
  if (!verified || signer === undefined) {
    const { check, message } = checks.at(-1)!;
    return `a bundle fails the check of its ${check}: ${message}`;
  }
  const signed = { signer, ...(signedAt === undefined ? {} : { signedAt }) };
  if (statement === undefined || statement.predicateType === SIGNATURE_PREDICATE) return signed;
  if (statement.predicateType !== SNAPSHOT_PREDICATE) return undefined;
  const claim = snapshotClaim(statement);
  if (claim === undefined) return 'what was signed is no snapshot as krmhub makes them';
  if (!namesCatalog(statement, copy)) return 'what was signed is another part of a snapshot than its catalog';
  const { catalog, serial, expires } = claim;
  return { ...signed, snapshot: { catalog, serial, expires } };
}

function namesCatalog({ subject }: Statement, { digest, manifest }: FetchedCopy): boolean {
  return subject.some(({ name, digest: own }) => {
    const signed = `sha256:${own.sha256}`;
    return signed === manifest || (signed === digest && SNAPSHOT_FORMS.some((form) => form === name));
  });
}

/** Keys that any of the policies names, each once. */
export function keysOf(policies: readonly SigningPolicy[]): PublicKey[] {
  const keys = new Map<string, PublicKey>();
  for (const signer of policies.flatMap(({ signers }) => signers)) {
    if ('key' in signer) keys.set(signer.fingerprint, readPublicKey(signer.key, 'a key of the recipe'));
  }
  return [...keys.values()];
}
