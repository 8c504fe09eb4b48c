import type { PublicKey } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema/digest';
import { type VerifiedSnapshot, verifySnapshot } from '@krmhub/signing/verify-snapshot';
import type { CatalogAddress } from './address.js';
import type { SeenSnapshot } from './seen-catalogs.js';
import { SIGNED_FILES, type SignedFile, type SnapshotFiles } from './snapshot-files.js';

export interface CatalogCheck {
  check: string;
  passed: boolean;
  /** The details, or why the check failed. */
  message: string;
}

/** The checks up to the first failure, and the trusted snapshot or the refusal. */
export interface CatalogVerdict {
  checks: CatalogCheck[];
  refusal?: { message: string; hint: string };
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

export interface VerifyInput {
  address: CatalogAddress;
  keys: readonly PublicKey[];
  files: SnapshotFiles;
  now: Date;
  /** The highest snapshot that was verified before. */
  seen: SeenSnapshot | undefined;
  /** Path of seen-catalogs.json. */
  seenFile: string;
}

type Signed = NonNullable<VerifiedSnapshot['signed']>;

/** Verifies that a pinned key signed the catalog, and that it is the newest. Nothing is trusted before that. */
export async function verifyCatalog(question: VerifyInput): Promise<CatalogVerdict> {
  const { address, keys, files } = question;
  const bundle = await files.bundle();
  if (!(bundle instanceof Uint8Array)) return refusedVerdict([], 'bundle', bundle.missing, bundle.hint);
  const { checks: first, signed, hint } = verifySnapshot(bundle, keys);
  const checks: CatalogCheck[] = [...first];
  if (signed === undefined) {
    const failed = checks.pop()!;
    return failed.check === 'signature'
      ? refusedVerdict(
          checks,
          'signature',
          unknownKeyReason(hint, keys) ?? failed.message,
          newKeyHint(address),
        )
      : refusedVerdict(checks, failed.check, failed.message, UNSIGNED);
  }
  for (const judge of [judgeName, judgeSerial, judgeExpiry, judgeRollback]) {
    const { check, problem, found, fix } = judge(question, signed);
    if (problem !== undefined) return refusedVerdict(checks, check, problem, fix);
    checks.push({ check, passed: true, message: found });
  }
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

interface Judgement {
  check: string;
  problem: string | undefined;
  found: string;
  fix: string;
}

function judgeName({ address }: VerifyInput, { claim }: Signed): Judgement {
  const other = claim.catalog !== address.name;
  return {
    check: 'catalog',
    problem: other ? `signature of ${claim.catalog}, expected ${address.name}` : undefined,
    found: claim.catalog,
    fix: CHANGED,
  };
}

function judgeSerial({ address: { serial } }: VerifyInput, { claim }: Signed): Judgement {
  const other = serial !== undefined && claim.serial !== serial;
  return {
    check: 'serial',
    problem: other ? `signature of snapshot ${claim.serial}, expected ${serial}` : undefined,
    found: `${claim.serial}, ${serial === undefined ? 'the newest' : 'as requested'}`,
    fix: CHANGED,
  };
}

/** An explicit snapshot can be of any age. */
function judgeExpiry({ address, now }: VerifyInput, { claim: { expires } }: Signed): Judgement {
  const over = address.serial === undefined && Date.parse(expires) <= now.getTime();
  return {
    check: 'expiry',
    problem: over ? `expired at ${expires}, the time is ${now.toISOString()}` : undefined,
    found: address.serial === undefined ? `valid until ${expires}` : 'not checked for an explicit snapshot',
    fix: 'Check the clock of this machine. The registry may have stopped, or a proxy may serve an old state of it. To use an old snapshot deliberately, use --snapshot SERIAL.',
  };
}

function judgeRollback({ address, seen, seenFile }: VerifyInput, { claim, digests }: Signed): Judgement {
  const { serial } = claim;
  const older = seen !== undefined && address.serial === undefined && serial < seen.serial;
  const other = seen !== undefined && serial === seen.serial && digests.get('snapshot.json') !== seen.digest;
  return {
    check: 'rollback',
    problem: older
      ? `the registry serves snapshot ${serial} as the newest, but snapshot ${seen.serial} was verified at ${seen.at}`
      : other
        ? `this snapshot ${serial} differs from the one that was verified at ${seen.at}`
        : undefined,
    found:
      seen === undefined ? 'first verification of this catalog' : `highest verified snapshot: ${seen.serial}`,
    fix: `Ask the operator of the registry. If the registry was restored from a backup, remove ${address.url} from ${seenFile}. To use an old snapshot deliberately, use --snapshot SERIAL.`,
  };
}

const UNSIGNED =
  'Nothing was written. Ask the operator of the registry why the snapshot is not signed correctly.';
const CHANGED =
  'Nothing was written. Ask the operator of the registry: it, or a proxy, serves other bytes than the signed ones.';

function newKeyHint({ registry }: CatalogAddress): string {
  return `If the registry rotated its key, download ${registry}/.well-known/krmhub-keys.json, confirm the fingerprint with the operator, and use --key with the new key.`;
}

/** Returns why the key of a bundle is unknown; undefined for a pinned key. */
function unknownKeyReason(hint: string | undefined, keys: readonly PublicKey[]): string | undefined {
  const bytes = Buffer.from(hint ?? '', 'base64');
  if (bytes.length !== 32) return undefined;
  const fingerprint = `sha256:${bytes.toString('hex')}`;
  if (keys.some((key) => key.fingerprint === fingerprint)) return undefined;
  const pinned = keys.map((key) => key.fingerprint).join(', ');
  return `signed by the key ${fingerprint}, expected ${pinned}`;
}

function refusedVerdict(
  checks: readonly CatalogCheck[],
  check: string,
  reason: string,
  hint: string,
): CatalogVerdict {
  return {
    checks: [...checks, { check, passed: false, message: reason }],
    refusal: { message: `${check}: ${reason}`, hint },
  };
}
