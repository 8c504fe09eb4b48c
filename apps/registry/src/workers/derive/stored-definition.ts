import { type Digest, type FunctionDefinition, type FunctionName, KrmhubError } from '@krmhub/schema';
import type { DeriveDeps } from './derivation.js';

/** Names a definition that never changes: of a release, or of an entry that a catalog serves. */
export type StoredDefinition = (FunctionName & { release: string; digest: Digest }) | { entry: Digest };

/** Returns the definition. Rejects with `unavailable` if it was taken down meanwhile. */
export async function readDefinition(
  { store }: DeriveDeps,
  stored: StoredDefinition,
): Promise<FunctionDefinition> {
  if ('entry' in stored) {
    const entries = await store.entries([stored.entry]);
    return JSON.parse(entries.get(stored.entry)!.json) as FunctionDefinition;
  }
  const { group, kind, release, digest } = stored;
  const found = await store.release(group, kind, release);
  if (found?.digest !== digest) {
    throw new KrmhubError('unavailable', `${group}/${kind}@${release} was removed just now`, {
      hint: 'Try again in a few seconds.',
    });
  }
  return found.definition;
}
