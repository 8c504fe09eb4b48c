import {
  applicablePolicies,
  describeSigner,
  evaluateSignatures,
  type ReleaseBundle,
  type ReleaseRecord,
  revocationReason,
  type Signer,
  type SigningPolicy,
  type Time,
} from '@krmhub/catalog';

/** What is known about a signature of a release, and no more. */
export type SignatureState =
  | { state: 'unsigned'; wanted?: string }
  /** By an unknown key. */
  | { state: 'unchecked'; bundle: ReleaseBundle }
  | {
      state: 'verified';
      /** Time of the verification by this registry. */
      at: Time;
      signer: Signer;
      bundle: ReleaseBundle;
      /** The policy that trusts it; absent if no policy covers the release. */
      policy?: string;
    }
  | { state: 'failed'; reason: string; bundle: ReleaseBundle; signer: Signer }
  /** A referrer of the release that this registry does not support as a signature. */
  | { state: 'unsupported'; type: string; digest: string };

/** Returns a state for each signature; `others` are the other referrers of the release's manifest. */
export function signatureStates(
  policies: readonly SigningPolicy[],
  release: Pick<ReleaseRecord, 'group' | 'kind' | 'release' | 'bundles'>,
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
  if (signatures.length === 0) {
    const [policy] = applicablePolicies(policies, release);
    return [{ state: 'unsigned', ...(policy === undefined ? {} : { wanted: policy.name }) }, ...unsupported];
  }
  return [...signatures.map((bundle) => stateOf(policies, release, bundle)), ...unsupported];
}

function stateOf(
  policies: readonly SigningPolicy[],
  release: Pick<ReleaseRecord, 'group' | 'kind' | 'release'>,
  bundle: ReleaseBundle,
): SignatureState {
  const { signer, signedAt, receivedAt } = bundle;
  if (signer === undefined) return { state: 'unchecked', bundle };
  const signature = { signer, receivedAt, ...(signedAt === undefined ? {} : { signedAt }) };
  const verdict = evaluateSignatures(policies, release, [signature]);
  const reason = verdict?.trusted === false ? verdict.reason : revocationReason(policies, signer);
  if (reason !== undefined) return { state: 'failed', reason, bundle, signer };
  return {
    state: 'verified',
    at: receivedAt,
    signer,
    bundle,
    ...(verdict?.trusted === true ? { policy: verdict.policy } : {}),
  };
}

export interface SignatureLabel {
  words: string;
  title: string;
  tone: 'plain' | 'good' | 'danger';
  /** The signer of a valid signature, and the policy that trusts it. */
  by?: string;
}

/** One or two words for lists of releases. */
export function signatureLabel(
  policies: readonly SigningPolicy[],
  release: Pick<ReleaseRecord, 'group' | 'kind' | 'release' | 'bundles'>,
): SignatureLabel {
  return labelOf(signatureStates(policies, release, []));
}

/** Returns the label of the best state of a release. */
export function labelOf(states: readonly SignatureState[]): SignatureLabel {
  const verified =
    states.find((one) => one.state === 'verified' && one.policy !== undefined) ??
    states.find(({ state }) => state === 'verified');
  if (verified?.state === 'verified') {
    const { signer, policy, at } = verified;
    const by = policy === undefined ? 'no policy covers it' : `by the policy ${policy}`;
    return {
      words: policy === undefined ? 'signed' : 'verified',
      title: `Verified at ${at}: ${describeSigner(signer)}, ${by}`,
      tone: policy === undefined ? 'plain' : 'good',
      by: `${describeSigner(signer)}, ${policy === undefined ? 'not in any policy' : `trusted by the policy ${policy}`}`,
    };
  }
  const failed = states.find(({ state }) => state === 'failed');
  if (failed?.state === 'failed') return { words: 'not trusted', title: failed.reason, tone: 'danger' };
  if (states.some(({ state }) => state === 'unchecked')) {
    return {
      words: 'not checked',
      title: 'Signed with a key that this registry does not know',
      tone: 'plain',
    };
  }
  return { words: 'unsigned', title: 'No signature', tone: 'plain' };
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
