import { AccessRules, type AccessStore, readAccess } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import type { KnownAccess } from '../http/auth/request-actor.js';

/** Recently read rules by revision and text: builds need them each time. */
const lastRead = new LRUCache<string, AccessRules>({ max: 4 });

/**
 * Reads the rules of the registry's Access document. It was valid when it was applied; throws if this version of the
 * program rejects it.
 */
export async function storedAccess(store: Pick<AccessStore, 'access'>): Promise<AccessRules> {
  const record = await store.access();
  if (record === undefined) return new AccessRules();
  const key = `${record.revision} ${record.text}`;
  const known = lastRead.get(key);
  if (known !== undefined) return known;
  const { access, diagnostics } = readAccess(new TextEncoder().encode(record.text), 'access.yaml');
  if (access === undefined) {
    throw new KrmhubError('invalid-document', 'cannot read the stored Access document', {
      diagnostics,
      hint: 'A newer version of krmhub applied it. Use that version or a later version.',
    });
  }
  const rules = new AccessRules(access, [], String(record.revision));
  lastRead.set(key, rules);
  return rules;
}

/** The access rules of this registry, as this process knows them. */
export class RegistryAccess implements KnownAccess {
  #rules = new AccessRules();

  get rules(): AccessRules {
    return this.#rules;
  }

  /** Loads the rules; call it at the start and after each change. */
  async reload(store: Pick<AccessStore, 'access'>): Promise<void> {
    this.#rules = await storedAccess(store);
  }
}
