/**
 * Applies recipes, and deletes, restores, and purges catalogs.
 *
 * A recipe is stored as its text. Applying it wakes the refresher and the snapshot builder, which sync and build in the
 * background. An author can name the recipe that the new one replaces, so that no change of another author is lost.
 *
 * @module
 */

import type { ApplyResult } from '@krmhub/api/model';
import type {
  CatalogReader,
  CatalogSources,
  DecidedThrough,
  Recipe,
  RecipeSource,
  RecipeStore,
} from '@krmhub/catalog';
import { type Diagnostic, type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import type { Caller } from '../http/auth/caller.js';
import { retryOnConflict } from '../store/retry-on-conflict.js';
import type { WakeableBuilder } from './build/catalog-builder.js';

export interface StoreRecipeDeps {
  store: CatalogReader & RecipeStore;
  clock: () => Date;
}

/** Reads recipes without delaying other requests. */
export interface RecipeReader {
  readRecipe(bytes: Uint8Array, file: string): Promise<CheckedRecipe>;
}

/** A recipe, unless it has errors. */
export interface CheckedRecipe {
  recipe?: Recipe;
  diagnostics: Diagnostic[];
}

export interface ApplyRecipeDeps extends StoreRecipeDeps {
  /** Rejects a recipe that would show to others what only this registry may fetch. */
  refuseExposedSources(recipe: CatalogSources): Promise<DecidedThrough | undefined>;
  planner: RecipeReader;
  /** Syncs the sources of recipes. */
  refresher: { wake(): void };
  snapshotBuilder: WakeableBuilder;
}

/** The catalog that every registry has. Its recipe is built in. */
export const DEFAULT_CATALOG = 'default';

interface SubmittedRecipe {
  text: string;
  recipe: CatalogSources;
}

interface Application extends Caller {
  /** `recipeState` of the recipe that the author read; absent to replace any recipe. */
  expected?: RecipeState;
  /** Rejects if the recipe must not replace another one. Returns what that was decided by. */
  refuse?(): Promise<DecidedThrough | undefined>;
}

/** Digest of the recipe text, or `none` without a recipe. */
export type RecipeState = Digest | 'none';

/** The recipe was replaced after its author read it. */
export class RecipeChanged extends KrmhubError {
  constructor(name: string) {
    super('conflict', `the recipe of catalog ${name} has changed since you read it`, {
      hint: 'Compare both recipes, then apply your recipe again.',
    });
  }
}

export function recipeState(stored: { recipe: string } | undefined): RecipeState {
  return stored === undefined ? 'none' : sha256(new TextEncoder().encode(stored.recipe));
}

/** Throws `conflict` for the built-in catalog. */
export function refuseBuiltIn(name: string): void {
  if (name !== DEFAULT_CATALOG) return;
  throw new KrmhubError('conflict', 'cannot replace the built-in catalog "default"', {
    hint: 'Use another name in metadata.name.',
  });
}

/** Returns the recipe with its warnings. Throws `invalid-document` with all diagnostics if it has errors. */
export async function checkRecipe(
  planner: RecipeReader,
  bytes: Uint8Array,
  name: string,
): Promise<{ text: string; recipe: Recipe; diagnostics: Diagnostic[] }> {
  const { recipe, diagnostics } = await planner.readRecipe(bytes, `${name}.yaml`);
  if (recipe === undefined) {
    throw new KrmhubError('invalid-document', 'invalid recipe', { diagnostics });
  }
  if (recipe.name !== name) {
    throw new KrmhubError('invalid-document', `the recipe is for catalog ${recipe.name}, not ${name}`, {
      hint: 'Use the same name in metadata.name and in the URL.',
    });
  }
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return { text, recipe, diagnostics };
}

/**
 * Stores the recipe, then starts the sync of its sources and a build. Rejects like `storeRecipe`, and with `conflict` if
 * a source needs credentials of the registry and the Access document does not say who may read the catalog.
 */
export async function applyRecipe(
  deps: ApplyRecipeDeps,
  given: SubmittedRecipe,
  application: Application,
): Promise<ApplyResult['outcome']> {
  const refuse = () => deps.refuseExposedSources(given.recipe);
  const outcome = await storeRecipe(deps, given, { ...application, refuse });
  if (outcome !== 'unchanged') {
    if (upstreamSources(given.recipe.sources).length > 0) deps.refresher.wake();
    deps.snapshotBuilder.wake();
  }
  return outcome;
}

/**
 * Rejects with RecipeChanged, with `conflict` for a deleted catalog, and with `unavailable` after too many concurrent
 * updates.
 */
export function storeRecipe(
  { store, clock }: StoreRecipeDeps,
  { text, recipe: { name, sources: all } }: SubmittedRecipe,
  { by, origin, expected, refuse }: Application,
): Promise<ApplyResult['outcome']> {
  const sources = upstreamSources(all);
  const storeOnce = async () => {
    const current = await store.catalog(name);
    const deleted = current === undefined ? await store.deletedCatalog(name) : undefined;
    if (deleted !== undefined) {
      const { at, by, reason, restorableUntil, purgedAt } = deleted;
      const canRestore = purgedAt === undefined && clock().toISOString() < restorableUntil;
      throw new KrmhubError('conflict', `catalog ${name} was deleted at ${at} by ${by}: ${reason}`, {
        hint: canRestore
          ? `Its name stays reserved. Restore it with \`krmhub catalog restore ${name}\`, or use another name.`
          : 'Its name stays reserved. Use another name.',
      });
    }
    // A catalog of an earlier version stays as it is; its report has a warning.
    if (current?.recipe === text) return 'unchanged';
    if (expected !== undefined && expected !== recipeState(current)) throw new RecipeChanged(name);
    const at = clock().toISOString();
    const event = { type: 'catalog.applied' as const, at, by, catalog: name };
    const expectedRecipe = current?.recipe;
    const decided = await refuse?.();
    await store.applyRecipe({ name, recipe: text, sources, expectedRecipe, decided, at, by, event, origin });
    return current === undefined ? 'created' : 'changed';
  };
  return retryOnConflict<ApplyResult['outcome']>(storeOnce, {
    exhausted() {
      throw new KrmhubError('unavailable', `catalog ${name}: concurrent update`);
    },
  });
}

/** Returns the sources that are upstream catalogs. */
function upstreamSources(sources: readonly RecipeSource[]): { source: string; url: string }[] {
  return sources.flatMap(({ name, catalog }) =>
    catalog === undefined ? [] : [{ source: name, url: catalog.url }],
  );
}
