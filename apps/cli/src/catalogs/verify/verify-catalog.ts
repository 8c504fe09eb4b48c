import type { PublicKey } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema/digest';
import { type VerifiedSnapshot, verifySnapshot } from '@krmhub/signing/verify-snapshot';
import type { CatalogAddress } from './address.js';
import type { SeenSnapshot } from './seen-catalogs.js';
import { SIGNED_FILES, type SignedFile, type SnapshotFiles } from './snapshot-files.js';

export interface CatalogCheck {
  check: string;
  passed: boolean;
  /** What was found, or why it is a refusal. */
  message: string;
}

/** Everything that holds, or the checks up to the one that failed and what to do about it. */
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

export interface CatalogQuestion {
  address: CatalogAddress;
  keys: readonly PublicKey[];
  files: SnapshotFiles;
  now: Date;
  /** The highest snapshot that was verified before. */
  seen: SeenSnapshot | undefined;
  /** Where that is remembered. */
  seenFile: string;
}

type Signed = NonNullable<VerifiedSnapshot['signed']>;

/** Whether a catalog is what a pinned key has signed, and the newest that there is. Nothing of it is believed before. */
export async function verifyCatalog(question: CatalogQuestion): Promise<CatalogVerdict> {
  const { address, keys, files } = question;
  const bundle = await files.bundle();
  if (!(bundle instanceof Uint8Array)) return refuse([], 'bundle', bundle.missing, bundle.hint);
  const { checks: first, signed, hint } = verifySnapshot(bundle, keys);
  const checks: CatalogCheck[] = [...first];
  if (signed === undefined) {
    const failed = checks.pop()!;
    return failed.check === 'signature'
      ? refuse(checks, 'signature', strangeKey(hint, keys) ?? failed.message, newKey(address))
      : refuse(checks, failed.check, failed.message, UNSIGNED);
  }
  for (const judge of [judgeName, judgeSerial, judgeExpiry, judgeRollback]) {
    const { check, problem, found, mend } = judge(question, signed);
    if (problem !== undefined) return refuse(checks, check, problem, mend);
    checks.push({ check, passed: true, message: found });
  }
  const { serial, expires } = signed.claim;
  const read: Partial<Record<SignedFile, Uint8Array>> = {};
  for (const name of SIGNED_FILES) {
    const bytes = await files.file(name, serial);
    const [expected, actual] = [signed.digests.get(name), sha256(bytes)];
    if (actual !== expected) {
      const reason = `it has the digest ${actual}, and ${expected ?? 'nothing of this name'} was signed`;
      return refuse(checks, name, reason, CHANGED);
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
  mend: string;
}

function judgeName({ address }: CatalogQuestion, { claim }: Signed): Judgement {
  const other = claim.catalog !== address.name;
  return {
    check: 'catalog',
    problem: other ? `it is the signature of ${claim.catalog}, not of ${address.name}` : undefined,
    found: claim.catalog,
    mend: CHANGED,
  };
}

function judgeSerial({ address: { serial } }: CatalogQuestion, { claim }: Signed): Judgement {
  const other = serial !== undefined && claim.serial !== serial;
  return {
    check: 'serial',
    problem: other ? `it is the signature of snapshot ${claim.serial}, not of ${serial}` : undefined,
    found: `${claim.serial}, ${serial === undefined ? 'as the newest' : 'as asked for'}`,
    mend: CHANGED,
  };
}

/** Who names a snapshot does not ask for the newest, and gets it however old it is. */
function judgeExpiry({ address, now }: CatalogQuestion, { claim: { expires } }: Signed): Judgement {
  const over = address.serial === undefined && Date.parse(expires) <= now.getTime();
  return {
    check: 'expiry',
    problem: over ? `it was good until ${expires}, and it is ${now.toISOString()}` : undefined,
    found: address.serial === undefined ? `good until ${expires}` : 'not asked for: a snapshot is named',
    mend: 'A registry renews its signatures: this one stands still, or somebody shows an old state of it. Look at the clock of this machine too. To use an old snapshot on purpose, name it with --snapshot.',
  };
}

function judgeRollback({ address, seen, seenFile }: CatalogQuestion, { claim, digests }: Signed): Judgement {
  const { serial } = claim;
  const older = seen !== undefined && address.serial === undefined && serial < seen.serial;
  const other = seen !== undefined && serial === seen.serial && digests.get('snapshot.json') !== seen.digest;
  return {
    check: 'rollback',
    problem: older
      ? `snapshot ${serial} is shown as the newest, and snapshot ${seen.serial} was seen at ${seen.at}`
      : other
        ? `there are two snapshots ${serial}: this one, and another that was seen at ${seen.at}`
        : undefined,
    found:
      seen === undefined
        ? 'none of this catalog was seen before'
        : `snapshot ${seen.serial} is the highest that was seen`,
    mend: `To use an old snapshot on purpose, name it with --snapshot. Else ask who runs the registry. If it was set back to a backup, and you believe that, take ${address.url} out of ${seenFile}.`,
  };
}

const UNSIGNED = 'Nothing was written. A registry of this version signs every snapshot: ask who runs it.';
const CHANGED =
  'Nothing was written. Something between you and the registry, or the registry itself, gives something else.';

function newKey({ registry }: CatalogAddress): string {
  return `If the registry has a new key, ${registry}/.well-known/krmhub-keys.json has it. Anybody in between can change that: have its operator tell you the fingerprint by another way, then give the new key with --key.`;
}

/** The key that a bundle says to be signed by, which is none of ours. */
function strangeKey(hint: string | undefined, keys: readonly PublicKey[]): string | undefined {
  const bytes = Buffer.from(hint ?? '', 'base64');
  if (bytes.length !== 32) return undefined;
  const fingerprint = `sha256:${bytes.toString('hex')}`;
  if (keys.some((key) => key.fingerprint === fingerprint)) return undefined;
  const pinned = keys.map((key) => key.fingerprint).join(', ');
  return `it says to be signed by the key ${fingerprint}, and ${pinned} is pinned`;
}

function refuse(
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
