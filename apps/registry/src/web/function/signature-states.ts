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

/** What can be said of a signature of a release, and no more than that. */
export type SignatureState =
  | { state: 'unsigned'; wanted?: string }
  /** By a key that nobody here knew. */
  | { state: 'unchecked'; bundle: ReleaseBundle }
  | {
      state: 'verified';
      /** When this registry verified it. */
      at: Time;
      signer: Signer;
      bundle: ReleaseBundle;
      /** By which it is trusted; absent where no policy speaks of the release. */
      policy?: string;
    }
  | { state: 'failed'; reason: string; bundle: ReleaseBundle; signer: Signer }
  /** Something beside the release that this registry does not read as a signature. */
  | { state: 'unsupported'; type: string; digest: string };

/** One state for each signature; `others` is what else speaks of the release's manifest. */
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
  /** Whose signature holds, and who trusts it. */
  by?: string;
}

/** One or two words for lists of releases. */
export function signatureLabel(
  policies: readonly SigningPolicy[],
  release: Pick<ReleaseRecord, 'group' | 'kind' | 'release' | 'bundles'>,
): SignatureLabel {
  return labelOf(signatureStates(policies, release, []));
}

/** The best of what can be said of the signatures of one release. */
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

/** What stands behind `krmhub verify REFERENCE` for a signer; nothing where the own trust is to judge. */
export function verifyOptions(signer: Signer | undefined): string {
  if (signer === undefined) return '';
  if (signer.type === 'key') return ' --key KEY.pub';
  return ` --identity ${shellWord(signer.subject)} --issuer ${shellWord(signer.issuer)}`;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
