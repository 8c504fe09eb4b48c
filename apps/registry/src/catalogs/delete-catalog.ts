import {
  type CatalogDeletions,
  type CatalogReader,
  type CatalogTombstone,
  RevisionConflict,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Caller } from '../http/auth/caller.js';
import { deletedError, findCatalog } from '../store/find-record.js';
import type { BytesLock } from '../workers/processes/processes.js';
import { type ApplyRecipeDeps, DEFAULT_CATALOG } from './apply-recipe.js';
import type { NewestSnapshots } from './serve/newest-snapshots.js';
import { storedRecipe } from './stored-recipe.js';

/**
 * Deletes catalogs, and restores them within a period. A deleted catalog is in no response: its addresses answer 410
 * with the reason, also in the OCI registry. Its recipe, snapshots, and copies of sources stay stored until the period
 * is over, so that a restore has all of them; then `CatalogPurge` deletes them. Its name stays reserved, because
 * consumers may still trust it.
 */
export interface DeleteCatalogDeps {
  bytesLock: BytesLock;
  store: CatalogReader & CatalogDeletions;
  newestSnapshots: NewestSnapshots;
  clock: () => Date;
  config: { catalogRestoreDays?: number };
  /** Rejects a catalog that would show to others what only this registry may fetch. */
  refuseExposedCatalog: ApplyRecipeDeps['refuseExposedSources'];
}

/** Days in which a deleted catalog can be restored, unless it is configured. */
export const DEFAULT_RESTORE_DAYS = 30;

const DAY_MS = 86_400_000;

/** Deletes a catalog. Rejects with `not-found`, and with `conflict` for the built-in catalog. */
export async function deleteCatalog(
  deps: DeleteCatalogDeps,
  name: string,
  { reason, by, origin }: Caller & { reason: string },
): Promise<CatalogTombstone> {
  const { store, newestSnapshots, clock, config } = deps;
  if (name === DEFAULT_CATALOG) {
    throw new KrmhubError('conflict', 'cannot delete the built-in catalog "default"', {
      hint: 'Every registry has this catalog. To delete another one, choose it from `krmhub catalog list`.',
    });
  }
  const known = await store.deletedCatalog(name);
  if (known !== undefined) return withoutRecipe(known);
  await findCatalog(store, name);
  const now = clock();
  const at = now.toISOString();
  const { catalogRestoreDays: days = DEFAULT_RESTORE_DAYS } = config;
  const restorableUntil = new Date(now.getTime() + days * DAY_MS).toISOString();
  const deletion = { at, by, reason, restorableUntil };
  const event = { type: 'catalog.deleted' as const, at, by, catalog: name, reason };
  // A snapshot that was built just before must not be announced after the deletion.
  return deps.bytesLock.exclusively(async () => {
    try {
      await store.deleteCatalog({ name, deletion, event, origin });
      newestSnapshots.clear();
      return { name, ...deletion };
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      const other = await store.deletedCatalog(name);
      if (other === undefined) throw concurrentChange(name, error);
      return withoutRecipe(other);
    }
  });
}

function withoutRecipe({ recipe: _, ...tombstone }: CatalogTombstone & { recipe: string }): CatalogTombstone {
  return tombstone;
}

/**
 * Restores a catalog. Rejects with `not-found`, with `gone` after the period, and with `conflict` if it would show what
 * only this registry may fetch.
 */
export async function restoreCatalog(
  { store, newestSnapshots, clock, refuseExposedCatalog }: DeleteCatalogDeps,
  name: string,
  { by, origin }: Caller,
): Promise<'restored' | 'unchanged'> {
  const known = await store.deletedCatalog(name);
  if (known === undefined) {
    await findCatalog(store, name);
    return 'unchanged';
  }
  const at = clock().toISOString();
  if (known.purgedAt !== undefined || at >= known.restorableUntil) throw deletedError(known, at);
  // The Access document can have dropped its rule meanwhile.
  const decided = await refuseExposedCatalog(storedRecipe(known));
  const event = { type: 'catalog.restored' as const, at, by, catalog: name };
  try {
    await store.restoreCatalog({ name, decided, at, event, origin });
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    const now = await store.deletedCatalog(name);
    if (now?.purgedAt !== undefined) throw deletedError(now, at);
    if ((await store.catalog(name)) === undefined) throw concurrentChange(name, error);
    return 'unchanged';
  }
  newestSnapshots.clear();
  return 'restored';
}

function concurrentChange(name: string, cause: unknown): KrmhubError {
  return new KrmhubError('unavailable', `catalog ${name}: concurrent update`, {
    hint: 'Show it with `krmhub catalog list`, then try again.',
    cause,
  });
}
