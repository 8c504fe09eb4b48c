import type { CatalogRecord, CatalogStore, FunctionRecord, ReleaseRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';

/** The function, whatever the case of its kind; rejects with `not-found`. */
export async function foundFunction(
  store: CatalogStore,
  { group, kind }: { group: string; kind: string },
): Promise<FunctionRecord> {
  const fn = await store.function(group, kind);
  if (fn !== undefined) return fn;
  throw new KrmhubError('not-found', `There is no function ${group}/${kind}`, {
    hint: 'GET /api/v1/functions?q= searches.',
  });
}

/** A release with its function; rejects with `not-found`. `release` is canonical. */
export async function foundRelease(
  store: CatalogStore,
  name: { group: string; kind: string; release: string },
): Promise<{ fn: FunctionRecord; release: ReleaseRecord }> {
  const fn = await foundFunction(store, name);
  const release = await store.release(fn.group, fn.kind, name.release);
  if (release !== undefined) return { fn, release };
  const newest = fn.releases.slice(0, 5).map((one) => one.release);
  throw new KrmhubError('not-found', `${fn.group}/${fn.kind} has no release ${name.release}`, {
    hint: `Its newest releases are ${newest.join(', ')}.`,
  });
}

/** Rejects with `not-found`. */
export async function foundCatalog(store: CatalogStore, name: string): Promise<CatalogRecord> {
  const catalog = await store.catalog(name);
  if (catalog !== undefined) return catalog;
  throw new KrmhubError('not-found', `There is no catalog ${name}`, {
    hint: 'GET /api/v1/catalogs lists them.',
  });
}
