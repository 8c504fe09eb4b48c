import { type PolicyStore, policyKeys, readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { KrmhubError, type PublicKey } from '@krmhub/schema';
import { publicGoodRoot, type Trust, type TrustedRoot } from '@krmhub/signing';

/** Whom this registry believes: the policies that were applied, and the sigstore instance that its operator names. */
export class SigningTrust implements Trust {
  readonly root: TrustedRoot;
  #policies: readonly SigningPolicy[] = [];
  #revision = 0;
  #keys: readonly PublicKey[] = [];

  constructor(root: TrustedRoot = publicGoodRoot()) {
    this.root = root;
  }

  get policies(): readonly SigningPolicy[] {
    return this.#policies;
  }

  /** Of the policies, 0 for none: a change that was judged by others is refused. */
  get revision(): number {
    return this.#revision;
  }

  /** Of all policies, each once; retired and revoked ones too, so that what they signed is known for what it is. */
  get keys(): readonly PublicKey[] {
    return this.#keys;
  }

  /** To be called at the start, and whenever policies were applied. */
  async reload({ policies: stored }: Pick<PolicyStore, 'policies'>): Promise<void> {
    const record = await stored();
    this.#policies = record === undefined ? [] : readStoredPolicies(record.text);
    this.#revision = record?.revision ?? 0;
    this.#keys = policyKeys(this.#policies);
  }
}

/** Policies were checked when they were applied: what is refused now was applied by another version, and trusts nobody. */
function readStoredPolicies(text: string): readonly SigningPolicy[] {
  const { policies, diagnostics } = readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');
  if (policies !== undefined) return policies;
  throw new KrmhubError('invalid-document', 'cannot read the stored signing policies', {
    diagnostics,
    hint: 'A newer version of krmhub applied them. Run that version or a later one.',
  });
}
