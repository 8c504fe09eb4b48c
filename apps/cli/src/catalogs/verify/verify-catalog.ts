import {
  type CatalogCheck,
  CHANGED,
  type JudgeInput,
  judgeSnapshot,
  type Refusal,
  refusedVerdict,
} from '@krmhub/consume/trust/judge-snapshot';
import type { PublicKey } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import type { CatalogAddress } from './address.js';
import { SIGNED_FILES, type SignedFile, type SnapshotFiles } from './snapshot-files.js';

/** The checks up to the first failure, and the trusted snapshot or the refusal. */
export interface CatalogVerdict {
  checks: CatalogCheck[];
  refusal?: Refusal;
  trusted?: {
    serial: number;
    /** Of snapshot.json. */
    digest: string;
    /** RFC 3339. */
    expires: string;
    /** Fingerprint. */
    key: string;
    bundle: Uint8Array;
    files: Record<SignedFile, Uint8Array>;
  };
}

export interface VerifyInput extends Pick<JudgeInput, 'limits' | 'pinned' | 'now' | 'seen' | 'seenFile'> {
  /** The address, with the name that the signature must have. */
  expected: CatalogAddress;
  keys: readonly PublicKey[];
  files: SnapshotFiles;
}

/** Verifies that a pinned key signed the catalog, and that it is the newest. Nothing is trusted before that. */
export async function verifyCatalog({
  expected: address,
  keys,
  files,
  ...memory
}: VerifyInput): Promise<CatalogVerdict> {
  const bundle = await files.bundle();
  if (!(bundle instanceof Uint8Array)) return refusedVerdict([], 'bundle', bundle.missing, bundle.hint);
  const { serial: requested, ...place } = address;
  const expected = {
    ...place,
    ...defined({ serial: requested, anyAge: requested === undefined ? undefined : true }),
  };
  const { checks, signed, refusal } = judgeSnapshot(bundle, { expected, keys, ...memory });
  if (refusal !== undefined) return { checks, refusal };
  const { serial, expires } = signed.claim;
  const read: Partial<Record<SignedFile, Uint8Array>> = {};
  for (const name of SIGNED_FILES) {
    const bytes = await files.file(name, serial);
    const [expected, actual] = [signed.digests.get(name), sha256(bytes)];
    if (actual !== expected) {
      const reason = `digest mismatch: signed ${expected ?? '(nothing)'}, got ${actual}`;
      return refusedVerdict(checks, name, reason, CHANGED);
    }
    checks.push({ check: name, passed: true, message: actual });
    read[name] = bytes;
  }
  return {
    checks,
    trusted: {
      serial,
      digest: signed.digests.get('snapshot.json')!,
      expires,
      key: signed.signer.fingerprint,
      bundle,
      files: read as Record<SignedFile, Uint8Array>,
    },
  };
}
