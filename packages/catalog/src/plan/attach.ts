import { KrmhubError, type Takedown } from '@krmhub/schema';
import { evaluateSignatures } from '../policy/evaluate-signatures.js';
import { releaseSignatures } from '../policy/signature-verdict.js';
import { anySigner, isSameSigner, type SigningPolicy } from '../policy/signing-policy.js';
import { repeatsReport } from '../policy/test-reports.js';
import type { FunctionChange, FunctionRecord, ReleaseBundle, ReleaseRecord, Time } from '../ports/records.js';
import { displayedRelease, searchDocument } from './displayed-release.js';
import { pinViolation } from './pinned-signers.js';

/** Limits on bundles, with their units. */
export const BUNDLE_LIMITS = {
  /** Size of one bundle. */
  maxBytes: 1_048_576,
  /** Bundles of one release. */
  maxPerRelease: 64,
  /** Attestations and bundles by unknown keys of one release. The other bundles are reserved for known signers. */
  maxUnverifiedPerRelease: 32,
  /** Referrers of one snapshot, with the signature of the registry. Clients read at most 64. */
  maxReferrersPerSnapshot: 32,
  /** Total size of the bundles that the registry reads for the push of a tag. */
  maxBytesPerTag: 8_388_608,
  /** Bundles in one publish request. */
  maxPerPublish: 4,
} as const;

export interface AttachInput {
  current: FunctionRecord;
  /** The tombstones of the function. */
  takedowns: readonly Takedown[];
  release: ReleaseRecord;
  /** The record of `displayedRelease(current.releases)`. */
  displayed: ReleaseRecord;
  bundle: ReleaseBundle;
  policies: readonly SigningPolicy[];
  now: Time;
  by: string;
}

export type AttachPlan =
  | { outcome: 'changed'; change: FunctionChange }
  | { outcome: 'unchanged'; release: ReleaseRecord };

/**
 * Plans to add a bundle to an existing release. It rejects a signature by an untrusted signer with `untrusted`:
 * otherwise, anyone could "sign" a release. Throws `conflict` if the release has too many bundles.
 */
export function planAttach(input: AttachInput): AttachPlan {
  const { current, takedowns, release, bundle, policies, now, by } = input;
  const { group, kind, bundles = [] } = release;
  // Another signature by the same signer adds nothing and could fill the release, unless it covers more.
  const says = (one: ReleaseBundle) => one.claim === 'signature' && one.signer !== undefined;
  const stands = bundles.some(
    (one) =>
      one.digest === bundle.digest ||
      (says(one) && says(bundle) && isSameSigner(one.signer!, bundle.signer!) && coversAll(one, bundle)),
  );
  if (stands || repeatsReport(bundles, bundle)) return { outcome: 'unchanged', release };
  const name = `${group}/${kind}@${release.release}`;
  const unasked = bundles.filter((one) => !says(one)).length;
  const isFull = !says(bundle) && unasked >= BUNDLE_LIMITS.maxUnverifiedPerRelease;
  if (isFull || bundles.length >= BUNDLE_LIMITS.maxPerRelease) {
    throw new KrmhubError(
      'conflict',
      `${name} has reached the limit of ${isFull ? unasked : bundles.length} ${isFull ? 'unverified bundles' : 'bundles'}`,
    );
  }
  if (bundle.claim === 'signature') {
    const signatures = releaseSignatures({ bundles: [bundle] });
    const verdict = evaluateSignatures(anySigner(policies), release, signatures);
    const reason =
      verdict === undefined
        ? pinViolation({ current, takedowns, signatures, policies })
        : verdict.trusted
          ? undefined
          : verdict.reason;
    if (reason !== undefined) {
      throw new KrmhubError('untrusted', `cannot add the bundle to ${name}: ${reason}`, {
        hint: 'Ask an administrator to allow the signer with `krmhub policy add`.',
      });
    }
  }
  const changed: ReleaseRecord = { ...release, bundles: [...bundles, bundle] };
  const expected = displayedRelease(current.releases).release;
  const displayed = expected === release.release ? changed : input.displayed;
  if (displayed.release !== expected) {
    throw new RangeError(`displayed is ${displayed.release} where ${expected} is needed`);
  }
  return {
    outcome: 'changed',
    change: {
      group,
      kind,
      expectedRevision: current.revision,
      action: 'update',
      release: changed,
      search: searchDocument(current, current.releases, displayed),
      event: {
        type: 'release.attested',
        at: now,
        by,
        group,
        kind,
        release: release.release,
        digest: bundle.digest,
        reason: bundle.predicateType,
      },
    },
  };
}

/** Reports whether a signature covers everything that another covers, and is at least as old by verified time. */
function coversAll({ signedAt, isWhole }: ReleaseBundle, other: ReleaseBundle): boolean {
  if (other.isWhole === true && isWhole !== true) return false;
  return other.signedAt === undefined || (signedAt !== undefined && signedAt <= other.signedAt);
}
