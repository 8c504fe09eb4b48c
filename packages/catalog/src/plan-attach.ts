import { KrmhubError } from '@krmhub/schema';
import { searchDocument, shownRelease, signaturesOf } from './newest.js';
import { otherSigner } from './plan-trust.js';
import type { FunctionChange, FunctionRecord, ReleaseBundle, ReleaseRecord, Time } from './records.js';
import { judgeSignatures, type SigningPolicy } from './signing-policy.js';

/** Limits on bundles: each with its unit. */
export const BUNDLE_LIMITS = {
  /** Bytes of one bundle. */
  maxBytes: 1_048_576,
  /** Bundles of one release. */
  maxOfRelease: 64,
  /** Bundles that come with one publish. */
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
  if (bundles.some(({ digest }) => digest === bundle.digest)) return { outcome: 'unchanged', release };
  const name = `${group}/${kind}@${release.release}`;
  if (bundles.length >= BUNDLE_LIMITS.maxOfRelease) {
    throw new KrmhubError('conflict', `${name} has ${bundles.length} bundles, and takes no more`);
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
