import {
  type AccessDocument,
  type AccessDocumentReader,
  AccessRules,
  type AppliedDocument,
  type DecidedThrough,
  type OwnerClaim,
  type OwnerClaimReader,
  readAccess,
  UNREADABLE_ACCESS,
} from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { LRUCache } from 'lru-cache';
import type { CurrentAccess, DecidingStore } from '../http/auth/request-actor.js';
import { RwLock } from '../workers/locks/rw-lock.js';
import { retryOnConflict } from './retry-on-conflict.js';

/** Recently read rules by revision: builds need them each time. */
const lastRead = new LRUCache<string, AccessRules>({ max: 4 });

/**
 * Reads the rules of the registry: its Access document, and the owners that proved their groups. The document was valid
 * when it was applied; throws if this version of the program rejects it.
 */
export async function storedAccess(store: StoredAccess): Promise<AccessRules> {
  return readRules(await store.access(), await store.ownerClaims());
}

/** Returns the rules of what is stored. Throws if this version of the program rejects it. */
export function readRules(
  record: AppliedDocument | undefined,
  allClaims: readonly OwnerClaim[],
): AccessRules {
  const claims = allClaims.map(({ group, team, proof, missingSince }) => ({
    ...{ group, team, proof },
    ...defined({ missingSince }),
  }));
  const revision = sha256(JSON.stringify([record?.revision, record?.text, claims]));
  const known = lastRead.get(revision);
  if (known !== undefined) return known;
  const rules = new AccessRules(readStoredAccess(record?.text), claims, revision);
  lastRead.set(revision, rules);
  return rules;
}

export type StoredAccess = AccessDocumentReader & OwnerClaimReader;

function readStoredAccess(text: string | undefined): AccessDocument | undefined {
  if (text === undefined) return undefined;
  const { access, diagnostics } = readAccess(new TextEncoder().encode(text), 'access.yaml');
  if (access !== undefined) return access;
  throw new KrmhubError('invalid-document', 'cannot read the stored Access document', {
    diagnostics,
    hint: 'A newer version of krmhub applied it. Use that version or a later version.',
  });
}

/** The access rules of this registry, as this process knows them. */
export class RegistryAccess implements CurrentAccess {
  #rules = new AccessRules();
  /** One load at a time: one that read before a change must not replace what a later one read. */
  readonly #loading = new RwLock();

  get rules(): AccessRules {
    return this.#rules;
  }

  /**
   * Loads the rules; call it at the start and after each change. Rejects with `invalid-document` if another version of the
   * program applied a document that this one does not read: then only administrators see and change anything, because
   * rights that ended there end here too.
   */
  reload(store: StoredAccess): Promise<void> {
    return this.#loading.write(async () => {
      try {
        this.#rules = await storedAccess(store);
      } catch (error) {
        if (error instanceof KrmhubError && error.code === 'invalid-document') this.#rules = UNREADABLE;
        throw error;
      }
    });
  }

  /** Loads the rules as they are now. Returns what is decided by them, for the transaction of the change. */
  async reloadToDecide(store: DecidingStore): Promise<DecidedThrough> {
    const event = await store.lastEvent();
    await this.reload(store);
    return { event, types: ['access.applied'] };
  }

  decide<Result>(store: DecidingStore, work: (decided: DecidedThrough) => Promise<Result>): Promise<Result> {
    return retryOnConflict(async () => work(await this.reloadToDecide(store)), {
      exhausted() {
        throw new KrmhubError('unavailable', 'the access rules of the registry are being changed', {
          hint: 'Nothing was stored. Try again.',
        });
      },
    });
  }
}

const UNREADABLE = new AccessRules(UNREADABLE_ACCESS, [], 'unreadable');
