import {
  anySigner,
  describeSigner,
  isSound,
  judgeSignatures,
  type ReleaseBundle,
  type ReleaseRecord,
  type ReleaseSummary,
  type SignatureVerdict,
  type Signer,
  type SigningPolicy,
  signedParts,
  verdictLabel,
  verdictText,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { Tone } from '../parts/label.js';

/** What is known about one signature of a release, and no more. */
export type SignatureState =
  /** Without a bundle, the release has no signature. */
  | { state: 'judged'; verdict: SignatureVerdict; bundle?: ReleaseBundle }
  /** A referrer of the release that this registry did not accept as a signature. */
  | { state: 'unsupported'; type: string; digest: string };

type SignedRelease = Pick<ReleaseRecord, 'group' | 'kind'> &
  Pick<ReleaseSummary, 'release' | 'bundles' | 'readme'>;

/** Returns the verdict on a release, of all its signatures together. */
export function releaseVerdict(policies: readonly SigningPolicy[], release: SignedRelease): SignatureVerdict {
  return judgeSignatures(policies, release, signedParts(release));
}

/** Returns a state for each signature; `others` are the other referrers of the release's manifest. */
export function signatureStates(
  policies: readonly SigningPolicy[],
  release: SignedRelease,
  others: readonly { digest: string; artifactType?: string }[],
): SignatureState[] {
  const bundles = release.bundles ?? [];
  const signatures = bundles.filter(({ claim }) => claim === 'signature');
  const known = new Set<string>(bundles.map(({ manifest }) => manifest));
  const unsupported = others
    .filter(({ digest }) => !known.has(digest))
    .map(
      ({ digest, artifactType = 'no type' }): SignatureState => ({
        state: 'unsupported',
        type: artifactType,
        digest,
      }),
    );
  const verdict = (bundles: readonly ReleaseBundle[]) =>
    releaseVerdict(anySigner(policies), { ...release, bundles: [...bundles] });
  const judged: SignatureState[] =
    signatures.length === 0
      ? [{ state: 'judged', verdict: verdict([]) }]
      : signatures.map((bundle) => ({ state: 'judged', verdict: verdict([bundle]), bundle }));
  const whole = releaseVerdict(policies, release);
  // Each signer is trusted, but the policy requires more.
  const isPart =
    whole.state === 'not-trusted' && judged.some((one) => 'verdict' in one && isSound(one.verdict));
  return [...(isPart ? [{ state: 'judged' as const, verdict: whole }] : []), ...judged, ...unsupported];
}

/** The verdict on a release as pages show it. */
export interface SignatureLabel {
  /** A few words for lists of releases. */
  words: string;
  title: string;
  tone: Tone;
  /** The signer of a valid signature. */
  by?: string;
}

export function signatureLabel(verdict: SignatureVerdict): SignatureLabel {
  const { signer } = verdict;
  return {
    words: verdictLabel(verdict),
    title: verdictText(verdict),
    tone: verdictTone(verdict),
    ...defined({ by: signer === undefined || !isSound(verdict) ? undefined : describeSigner(signer) }),
  };
}

function verdictTone({ state, isReadmeSigned }: SignatureVerdict): Tone {
  if (state === 'not-trusted') return 'danger';
  if (state !== 'verified') return 'plain';
  return isReadmeSigned === false ? 'warning' : 'good';
}

/** Returns the options after `krmhub verify REFERENCE` for a signer; empty if the user's own trust policy decides. */
export function verifyOptions(signer: Signer | undefined): string {
  if (signer === undefined) return '';
  if (signer.type === 'key') return ' --key KEY.pub';
  return ` --identity ${shellWord(signer.subject)} --issuer ${shellWord(signer.issuer)}`;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
