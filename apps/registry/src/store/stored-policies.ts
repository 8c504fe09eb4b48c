import { type PolicyReader, readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';

/** Recently read policies by their text: builds and syncs of catalogs that follow them need them each time. */
const lastRead = new LRUCache<string, readonly SigningPolicy[]>({ max: 4 });

/**
 * Reads the signing policies of the registry, with their revision, 0 for none. They were valid when they were applied;
 * throws if this version of the program rejects them.
 */
export async function storedPolicies(
  store: PolicyReader,
): Promise<{ policies: readonly SigningPolicy[]; revision: number }> {
  const record = await store.policies();
  if (record === undefined) return { policies: [], revision: 0 };
  return { policies: readStoredPolicies(record.text), revision: record.revision };
}

function readStoredPolicies(text: string): readonly SigningPolicy[] {
  const known = lastRead.get(text);
  if (known !== undefined) return known;
  const { policies, diagnostics } = readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');
  if (policies !== undefined) {
    lastRead.set(text, policies);
    return policies;
  }
  throw new KrmhubError('invalid-document', 'cannot read the stored signing policies', {
    diagnostics,
    hint: 'A newer version of krmhub applied them. Use that version or a later version.',
  });
}
