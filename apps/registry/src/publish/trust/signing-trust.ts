import { type PolicyReader, policyKeys, type SigningPolicy } from '@krmhub/catalog';
import { KrmhubError, type PublicKey } from '@krmhub/schema';
import { publicGoodRoot, type Trust, type TrustedRoot } from '@krmhub/signing';
import { storedPolicies } from '../../store/stored-policies.js';
import { RwLock } from '../../workers/locks/rw-lock.js';

/** The revision of no policies that are stored. */
const UNREADABLE = -1;

/** What this registry trusts: the signing policies, and the sigstore instance that the operator configured. */
export class SigningTrust implements Trust {
  readonly root: TrustedRoot;
  #policies: readonly SigningPolicy[] = [];
  #revision = 0;
  #keys: readonly PublicKey[] = [];
  /** One load at a time: one that read before a change must not replace what a later one read. */
  readonly #loading = new RwLock();

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

  /**
   * Loads the policies; call it at the start and after each change. Rejects with `invalid-document` if another version of
   * the program applied policies that this one does not read: then it trusts nobody, and every change is refused.
   */
  reload(store: PolicyReader): Promise<void> {
    return this.#loading.write(async () => {
      try {
        this.#use(await storedPolicies(store));
      } catch (error) {
        if (error instanceof KrmhubError && error.code === 'invalid-document')
          this.#use({ policies: [], revision: UNREADABLE });
        throw error;
      }
    });
  }

  #use({ policies, revision }: Awaited<ReturnType<typeof storedPolicies>>): void {
    this.#policies = policies;
    this.#revision = revision;
    this.#keys = policyKeys(policies);
  }
}
