import { EMPTY_DIGEST, type ManifestReader, type OciDigest } from '@krmhub/oci';
import { repositoryKind } from '../store/artifacts/repositories.js';

/**
 * Reports whether a blob is `{}` and the repository has it without a push: where the registry makes
 * artifacts, and where a manifest names it. In other repositories it can be deleted as any blob can.
 */
export async function isPushedBlob(
  store: ManifestReader,
  repository: string,
  digest: OciDigest,
): Promise<boolean> {
  if (digest !== EMPTY_DIGEST) return false;
  return repositoryKind(repository).of !== 'anything' || store.isReferenced(repository, digest);
}
