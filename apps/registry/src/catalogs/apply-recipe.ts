import type { ApplyResult, Diagnostic } from '@krmhub/api/model';
import { type Recipe, RevisionConflict, readRecipe } from '@krmhub/catalog';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { RegistryParts } from '../server/environment.js';

/** The catalog that every registry has; its recipe is the program's. */
export const DEFAULT_CATALOG = 'default';

interface SubmittedRecipe {
  text: string;
  recipe: Pick<Recipe, 'name' | 'sources'>;
}

interface Application {
  by: string;
  /** What `recipeState` was when its author began; absent where whatever stands there is to be replaced. */
  expected?: RecipeState;
}

/** Digest of the text of a recipe, or that there is none. */
export type RecipeState = Digest | 'none';

/** Somebody else has applied another recipe since this one was begun. */
export class RecipeChanged extends KrmhubError {
  constructor(name: string) {
    super('conflict', `the recipe of catalog ${name} has changed since you read it`, {
      hint: 'Compare both recipes, then apply yours again.',
    });
  }
}

export function recipeState(stored: { recipe: string } | undefined): RecipeState {
  return stored === undefined ? 'none' : sha256(new TextEncoder().encode(stored.recipe));
}

/** Throws `conflict` for the catalog whose recipe nobody applies. */
export function refuseBuiltIn(name: string): void {
  if (name !== DEFAULT_CATALOG) return;
  throw new KrmhubError('conflict', 'cannot replace the built-in catalog "default"', {
    hint: 'Use another catalog name.',
  });
}

/** A recipe for the catalog, with what is to be said of it; throws `invalid-document` with everything that is wrong. */
export function checkRecipe(
  bytes: Uint8Array,
  name: string,
): { text: string; recipe: Recipe; diagnostics: Diagnostic[] } {
  const { recipe, diagnostics } = readRecipe(bytes, `${name}.yaml`);
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

/** Makes the recipe that of its catalog, and has its sources asked and the catalog cut. Rejects as `storeRecipe`. */
export async function applyRecipe(
  parts: Pick<RegistryParts, 'store' | 'clock' | 'refresher' | 'snapshotBuilder'>,
  given: SubmittedRecipe,
  application: Application,
): Promise<ApplyResult['outcome']> {
  const outcome = await storeRecipe(parts, given, application);
  if (outcome !== 'unchanged') {
    if (upstreamSources(given.recipe).length > 0) parts.refresher.wake();
    parts.snapshotBuilder.wake();
  }
  return outcome;
}

/** Rejects with RecipeChanged, and with `unavailable` where others change the recipe all the time. */
export async function storeRecipe(
  { store, clock }: Pick<RegistryParts, 'store' | 'clock'>,
  { text, recipe: { name, sources: all } }: SubmittedRecipe,
  { by, expected }: Application,
): Promise<ApplyResult['outcome']> {
  const sources = upstreamSources({ sources: all });
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const current = await store.catalog(name);
    if (current?.recipe === text) return 'unchanged';
    if (expected !== undefined && expected !== recipeState(current)) throw new RecipeChanged(name);
    const at = clock().toISOString();
    const event = { type: 'catalog.applied' as const, at, by, catalog: name };
    try {
      const expectedRecipe = current?.recipe;
      await store.applyRecipe({ name, recipe: text, sources, expectedRecipe, at, by, event });
    } catch (error) {
      if (error instanceof RevisionConflict) continue;
      throw error;
    }
    return current === undefined ? 'created' : 'changed';
  }
  throw new KrmhubError('unavailable', `catalog ${name}: concurrent update`);
}

/** Those that are catalogs elsewhere. */
function upstreamSources({ sources }: Pick<Recipe, 'sources'>): { source: string; url: string }[] {
  return sources.flatMap(({ name, catalog }) =>
    catalog === undefined ? [] : [{ source: name, url: catalog.url }],
  );
}
