/**
 * Decides whether the user trusts a snapshot or a release: by pinned keys, signing policies, and what was verified before.
 *
 * judge-snapshot.ts and judge-release.ts decide without I/O; the others read the trust file, the cache, and registries.
 *
 * @module
 */

import type { PublicKey } from '@krmhub/schema';
import { type VerifiedSnapshot, verifySnapshot } from '@krmhub/signing/verify-snapshot';
import type { SnapshotLimits } from '../ports.js';
import { type SeenCatalogs, seenKey } from './seen-catalogs.js';

export interface CatalogCheck {
  check: string;
  passed: boolean;
  /** The details, or why the check failed. */
  message: string;
}

export interface ExpectedSnapshot {
  /** URL or reference of the catalog, for messages. */
  url: string;
  /** URL of the registry, if the catalog is read from one. */
  registry?: string;
  /** Name of the catalog, if the address contains it. */
  name?: string;
  /** The requested snapshot; absent for the newest. */
  serial?: number;
  /** True if the user named the exact snapshot, which then can be of any age, and offline. */
  anyAge?: boolean;
  /** True if the snapshot is the newest one that is cached. */
  offline?: boolean;
}

export interface JudgeInput {
  expected: ExpectedSnapshot;
  keys: readonly PublicKey[];
  /** Of the options of the command. */
  limits?: SnapshotLimits | undefined;
  /** Of the catalog in the trust file. */
  pinned?: SnapshotLimits | undefined;
  now: Date;
  seen: SeenCatalogs;
  /** Path of seen-catalogs.json. */
  seenFile: string;
}

export type SignedSnapshot = NonNullable<VerifiedSnapshot['signed']>;

export interface Refusal {
  message: string;
  hint: string;
}

/** The checks up to the first failure, and the signed snapshot or the refusal. */
export type SnapshotVerdict =
  | { checks: CatalogCheck[]; signed: SignedSnapshot; refusal?: undefined }
  | { checks: CatalogCheck[]; signed?: undefined; refusal: Refusal };

export function judgeSnapshot(bundle: Uint8Array, input: JudgeInput): SnapshotVerdict {
  const { expected, keys } = input;
  const { checks: first, signed, hint } = verifySnapshot(bundle, keys);
  const checks: CatalogCheck[] = [...first];
  if (signed === undefined) {
    const failed = checks.pop()!;
    return failed.check === 'signature'
      ? refusedVerdict(
          checks,
          'signature',
          unknownKeyReason(hint, keys) ?? failed.message,
          newKeyHint(expected),
        )
      : refusedVerdict(checks, failed.check, failed.message, UNSIGNED);
  }
  for (const judge of [judgeName, judgeSerial, judgeExpiry, judgeRollback, judgeMinimum, judgeAge]) {
    const judgement = judge(input, signed);
    if (judgement === undefined) continue;
    const { check, problem, found, fix } = judgement;
    if (problem !== undefined) return refusedVerdict(checks, check, problem, fix);
    checks.push({ check, passed: true, message: found });
  }
  return { checks, signed };
}

export function refusedVerdict(
  checks: readonly CatalogCheck[],
  check: string,
  reason: string,
  hint: string,
): { checks: CatalogCheck[]; refusal: Refusal } {
  return {
    checks: [...checks, { check, passed: false, message: reason }],
    refusal: { message: `${check}: ${reason}`, hint },
  };
}

interface Judgement {
  check: string;
  problem: string | undefined;
  found: string;
  fix: string;
}

function judgeName({ expected: { name } }: JudgeInput, { claim }: SignedSnapshot): Judgement {
  const other = name !== undefined && claim.catalog !== name;
  return {
    check: 'catalog',
    problem: other ? `signature of ${claim.catalog}, expected ${name}` : undefined,
    found: claim.catalog,
    fix: CHANGED,
  };
}

function judgeSerial({ expected: { serial, anyAge } }: JudgeInput, { claim }: SignedSnapshot): Judgement {
  const other = serial !== undefined && claim.serial !== serial;
  return {
    check: 'serial',
    problem: other ? `signature of snapshot ${claim.serial}, expected ${serial}` : undefined,
    found: `${claim.serial}, ${anyAge === true ? 'as requested' : 'the newest'}`,
    fix: CHANGED,
  };
}

function judgeExpiry(
  { expected: { anyAge }, now }: JudgeInput,
  { claim: { expires } }: SignedSnapshot,
): Judgement {
  const over = anyAge !== true && Date.parse(expires) <= now.getTime();
  return {
    check: 'expiry',
    problem: over ? `expired at ${expires}, the time is ${now.toISOString()}` : undefined,
    found: anyAge === true ? 'not checked for an explicit snapshot' : `valid until ${expires}`,
    fix: `Check the clock of this machine. If it is correct, the registry may be stopped, or a proxy may serve old responses. ${DELIBERATELY}`,
  };
}

/** Compares with every key of the catalog: the snapshots of a new key follow those of the old one. */
function judgeRollback(
  { expected: { url, anyAge }, keys, seen, seenFile }: JudgeInput,
  { claim: { catalog, serial }, digests, signer }: SignedSnapshot,
): Judgement {
  const names = [signer, ...keys].map(({ fingerprint }) => seenKey(fingerprint, catalog));
  const known = [...new Set([...names, url])].flatMap((key) =>
    Object.hasOwn(seen, key) ? [{ key, ...seen[key]! }] : [],
  );
  const older = known.find((one) => anyAge !== true && serial < one.serial);
  const other = known.find((one) => serial === one.serial && digests.get('snapshot.json') !== one.digest);
  const highest = Math.max(...known.map((one) => one.serial));
  return {
    check: 'rollback',
    problem:
      older !== undefined
        ? `the registry serves snapshot ${serial} as the newest, but snapshot ${older.serial} was verified at ${older.at}`
        : other !== undefined
          ? `this snapshot ${serial} differs from the one that was verified at ${other.at}`
          : undefined,
    found:
      known.length === 0 ? 'first verification of this catalog' : `highest verified snapshot: ${highest}`,
    fix: `Ask the operator of the registry. If the registry was restored from a backup, remove "${(older ?? other)?.key}" from ${seenFile}. ${DELIBERATELY}`,
  };
}

function judgeMinimum(
  { limits, pinned }: JudgeInput,
  { claim: { serial } }: SignedSnapshot,
): Judgement | undefined {
  const minSerial = most(Math.max, limits?.minSerial, pinned?.minSerial);
  if (minSerial === undefined) return undefined;
  return {
    check: 'min-serial',
    problem: serial < minSerial ? `snapshot ${serial}, expected at least ${minSerial}` : undefined,
    found: `${serial}, at least ${minSerial}`,
    fix: 'Ask the operator of the registry which snapshot is the newest. A proxy may serve old responses.',
  };
}

function judgeAge(
  { expected: { anyAge = false, offline = false }, limits, pinned, now }: JudgeInput,
  { claim: { signedAt } }: SignedSnapshot,
): Judgement | undefined {
  // Registries renew only the signature of the newest snapshot.
  const asked = anyAge && !offline ? undefined : limits?.maxAge;
  const maxAge = most(Math.min, asked, anyAge ? undefined : pinned?.maxAge);
  if (maxAge === undefined) return undefined;
  const tooOld = signedAt === undefined || now.getTime() - Date.parse(signedAt) > maxAge * 1_000;
  return {
    check: 'max-age',
    problem: !tooOld
      ? undefined
      : signedAt === undefined
        ? 'the signature does not contain its signing time'
        : `signed at ${signedAt}, the time is ${now.toISOString()}`,
    found: `signed at ${signedAt}`,
    fix: 'Use a longer --max-age, or `maxAge` in the trust file, or ask the operator. The registry renews a signature after half of its validity.',
  };
}

/** Returns the stricter of two limits; undefined if there is none. */
function most(
  choose: (...values: number[]) => number,
  ...values: (number | undefined)[]
): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : choose(...given);
}

const DELIBERATELY = 'To use an old snapshot, set its serial, for example with --snapshot SERIAL.';
const UNSIGNED =
  'Nothing was written. Ask the operator of the registry why the snapshot is not signed correctly.';
export const CHANGED =
  'Nothing was written. Ask the operator of the registry: the registry or a proxy serves bytes that are not signed.';

function newKeyHint({ registry }: ExpectedSnapshot): string {
  const source =
    registry === undefined
      ? 'get the new key from its operator'
      : `download ${registry}/.well-known/krmhub-keys.json, confirm the fingerprint with the operator`;
  return `If the registry rotated its key, ${source}, and use --key or \`krmhub trust add\` with the new key.`;
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
