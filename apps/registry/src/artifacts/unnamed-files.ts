import type { BlobStore } from '@krmhub/catalog';
import type { ManifestStore } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { RwLock } from '../isolation/rw-lock.js';
import { SERVER_LIMITS } from '../limits.js';

interface Parts {
  store: Pick<ManifestStore, 'findUnreferencedFiles'>;
  artifacts: Pick<BlobStore, 'list' | 'delete'>;
  /** Who stores a file shares it until the file's row is there; left out by who has it alone already. */
  gate?: RwLock;
}

/** Deletes every file of artifacts that no repository has; gives how many. */
export async function deleteUnnamedFiles(parts: Parts): Promise<number> {
  let deleted = 0;
  let batch: Digest[] = [];
  for await (const file of parts.artifacts.list()) {
    batch.push(file);
    if (batch.length < SERVER_LIMITS.collectBatch) continue;
    deleted += await deleteFilesUnnamed(parts, batch);
    batch = [];
  }
  return deleted + (await deleteFilesUnnamed(parts, batch));
}

/** Deletes those of the files that no repository has; gives how many. */
export async function deleteFilesUnnamed(
  { store, artifacts, gate }: Parts,
  files: readonly Digest[],
): Promise<number> {
  const maybe = await store.findUnreferencedFiles(files);
  if (maybe.length === 0) return 0;
  const remove = async () => {
    const unnamed = await store.findUnreferencedFiles(maybe);
    for (const file of unnamed) await artifacts.delete(file);
    return unnamed.length;
  };
  return gate === undefined ? remove() : gate.write(remove);
}
