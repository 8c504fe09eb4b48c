import { KrmhubError } from '@krmhub/schema';
import { judgeSignatures, type SigningPolicy, sameSigner } from '../policy/signing-policy.js';
import type { FunctionChange, FunctionRecord, ReleaseBundle, ReleaseRecord, Time } from '../ports/records.js';
import { searchDocument, shownRelease, signaturesOf } from './newest.js';
import { otherSigner } from './trust.js';

/** Limits on bundles: each with its unit. */
export const BUNDLE_LIMITS = {
  /** Size of one bundle. */
  maxBytes: 1_048_576,
  /** Bundles of one release. */
  maxOfRelease: 64,
  /** Bundles of one release that are attestations, or signed by a key that the registry does not know: signatures keep their room. */
  maxUnasked: 32,
  /** Total size of the bundles that are read when a tag is pushed. */
  maxBytesOfTag: 8_388_608,
  /** Bundles in one publish request. */
  maxOfPublish: 4,
} as const;

export interface AttachInput {
  current: FunctionRecord;
  release: ReleaseRecord;
  /** The record of `shownRelease(current.releases)`. */
  shown: ReleaseRecord;
  bundle: ReleaseBundle;
  policies: readonly SigningPolicy[];
  now: Time;
  by: string;
}

export type AttachPlan =
  | { outcome: 'changed'; change: FunctionChange }
  | { outcome: 'unchanged'; release: ReleaseRecord };

/**
 * Adds a bundle to a release that stands. A signature by somebody whom the policies do not trust is refused with
 * `untrusted`: a release would be "signed" by anybody. Throws `conflict` where the release has too many.
 */
export function planAttach(input: AttachInput): AttachPlan {
  const { current, release, bundle, policies, now, by } = input;
  const { group, kind, bundles = [] } = release;
  // Another signature by the same signer says nothing new, and could fill the release.
  const says = (one: ReleaseBundle) => one.claim === 'signature' && one.signer !== undefined;
  const stands = bundles.some(
    (one) =>
      one.digest === bundle.digest ||
      (says(one) && says(bundle) && sameSigner(one.signer!, bundle.signer!) && isNoLater(one, bundle)),
  );
  if (stands) return { outcome: 'unchanged', release };
  const name = `${group}/${kind}@${release.release}`;
  const unasked = bundles.filter((one) => !says(one)).length;
  const isFull = !says(bundle) && unasked >= BUNDLE_LIMITS.maxUnasked;
  if (isFull || bundles.length >= BUNDLE_LIMITS.maxOfRelease) {
    throw new KrmhubError(
      'conflict',
      `${name} has ${isFull ? unasked : bundles.length} such bundles, and takes no more`,
    );
  }
  if (bundle.claim === 'signature') {
    const signatures = signaturesOf({ bundles: [bundle] });
    const verdict = judgeSignatures(policies, release, signatures);
    const reason =
      verdict === undefined
        ? otherSigner(current, signatures, policies)
        : verdict.trusted
          ? undefined
          : verdict.reason;
    if (reason !== undefined) {
      throw new KrmhubError('untrusted', `The bundle is not added to ${name}: ${reason}`, {
        hint: 'An administrator says who may sign with `krmhub policy apply`.',
      });
    }
  }
  const changed: ReleaseRecord = { ...release, bundles: [...bundles, bundle] };
  const expected = shownRelease(current.releases).release;
  const shown = expected === release.release ? changed : input.shown;
  if (shown.release !== expected) {
    throw new RangeError(`shown is ${shown.release} where ${expected} is needed`);
  }
  return {
    outcome: 'changed',
    change: {
      group,
      kind,
      expectedRevision: current.revision,
      action: 'update',
      release: changed,
      search: searchDocument(current, current.releases, shown),
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

/** Whether a signature was made no later than another, as far as somebody testifies it: times bound what is believed. */
function isNoLater({ signedAt }: ReleaseBundle, other: ReleaseBundle): boolean {
  return other.signedAt === undefined || (signedAt !== undefined && signedAt <= other.signedAt);
}
