import type { CatalogReader, FunctionReader } from '@krmhub/catalog';
import { type OciDigest, OciError, type OciErrorCode } from '@krmhub/oci';
import { canonicalRelease } from '@krmhub/schema';
import { repositoryKind } from '../store/artifacts/repositories.js';

/**
 * Returns the error for missing content: 410 if it was taken down or its snapshot withdrawn, otherwise 404.
 */
export async function goneOrNotFound(
  { store }: { store: FunctionReader & CatalogReader },
  code: OciErrorCode,
  message: string,
  { repository, digest, tag }: { repository: string; digest?: OciDigest; tag?: string },
): Promise<OciError> {
  const kind = repositoryKind(repository);
  if (kind.of === 'function') {
    const release = tag === undefined ? undefined : canonicalRelease(tag);
    const takedowns = await store.takedowns(kind.group, kind.kindFolded);
    const gone = takedowns.find((one) => one.digest === digest || one.release === release);
    if (gone !== undefined) return taken(code, `release ${gone.release} was taken down`, gone.reason);
  }
  if (kind.of === 'catalog') {
    const serial = /^\d{1,15}$/.test(tag ?? '') ? Number(tag) : undefined;
    const reference = serial ?? digest;
    const isKnownForm = typeof reference === 'number' || reference?.startsWith('sha256:');
    const snapshot = isKnownForm
      ? await store.snapshot(kind.catalog, reference as number | `sha256:${string}`)
      : undefined;
    if (snapshot?.withdrawn !== undefined) {
      return taken(code, `snapshot ${snapshot.serial} was withdrawn`, snapshot.withdrawn.reason);
    }
  }
  const script = digest === undefined ? undefined : await store.takedownOfScript(digest);
  if (script !== undefined) {
    const { group, kind, release, reason } = script;
    return taken(code, `the script of ${group}/${kind}@${release} was taken down`, reason);
  }
  return new OciError(code, message);
}

/** Rejects with an OciError (410) for the repository of a deleted catalog. */
export async function refuseDeletedCatalog(
  { store }: { store: CatalogReader },
  repository: string,
): Promise<void> {
  const kind = repositoryKind(repository);
  const deleted = kind.of === 'catalog' ? await store.deletedCatalog(kind.catalog) : undefined;
  if (deleted === undefined) return;
  throw taken('NAME_UNKNOWN', `catalog ${deleted.name} was deleted`, deleted.reason);
}

function taken(code: OciErrorCode, what: string, reason: string): OciError {
  return new OciError(code, `${what}: ${reason}`, { status: 410 });
}
