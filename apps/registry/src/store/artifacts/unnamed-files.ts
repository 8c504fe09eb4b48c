import type { DeletableBlobs } from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { BytesLock } from '../../workers/processes/processes.js';

interface Deps {
  store: ManifestReader;
  artifacts: DeletableBlobs;
  /** Held for reading while a file is stored, until its row is there; `held` for a caller that has it for writing. */
  bytesLock: Pick<BytesLock, 'write'> | 'held';
}

/** Deletes every file of artifacts that no repository has; gives how many. */
export async function deleteUnnamedFiles(deps: Deps): Promise<number> {
  let deleted = 0;
  let batch: Digest[] = [];
  for await (const file of deps.artifacts.list()) {
    batch.push(file);
    if (batch.length < SERVER_LIMITS.collectBatch) continue;
    deleted += await deleteFilesUnnamed(deps, batch);
    batch = [];
  }
  return deleted + (await deleteFilesUnnamed(deps, batch));
}

/** Deletes those of the files that no repository has; gives how many. */
export async function deleteFilesUnnamed(
  { store, artifacts, bytesLock }: Deps,
  files: readonly Digest[],
): Promise<number> {
  const maybe = await store.findUnreferencedFiles(files);
  if (maybe.length === 0) return 0;
  const remove = async () => {
    const unnamed = await store.findUnreferencedFiles(maybe);
    for (const file of unnamed) await artifacts.delete(file);
    return unnamed.length;
  };
  return bytesLock === 'held' ? remove() : bytesLock.write(remove);
}
