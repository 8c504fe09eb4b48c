import { type PolicyStore, policyKeys, readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { KrmhubError, type PublicKey } from '@krmhub/schema';
import { publicGoodRoot, type Trust, type TrustedRoot } from '@krmhub/signing';

/** What this registry trusts: the signing policies, and the sigstore instance that the operator configured. */
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

  /** Revision of the policies, 0 for none. A change that was evaluated under another revision is refused. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * All keys of all policies, each once. Includes retired and revoked keys, so that their signatures are recognized.
   */
  get keys(): readonly PublicKey[] {
    return this.#keys;
  }

  /** Loads the policies; call it at the start and after each change. */
  async reload({ policies: stored }: Pick<PolicyStore, 'policies'>): Promise<void> {
    const record = await stored();
    this.#policies = record === undefined ? [] : readStoredPolicies(record.text);
    this.#revision = record?.revision ?? 0;
    this.#keys = policyKeys(this.#policies);
  }
}

/**
 * Policies were valid when they were applied. If one is invalid now, another version applied it, and it trusts no
 * one.
 */
function readStoredPolicies(text: string): readonly SigningPolicy[] {
  const { policies, diagnostics } = readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');
  if (policies !== undefined) return policies;
  throw new KrmhubError('invalid-document', 'cannot read the stored signing policies', {
    diagnostics,
    hint: 'A newer version of krmhub applied them. Run that version or a later one.',
  });
}
