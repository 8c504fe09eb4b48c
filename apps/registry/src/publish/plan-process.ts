import { deserialize, serialize } from 'node:v8';
import { type PublishInput, type PublishPlan, planPublish, readRecipe } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { CheckedRecipe } from '../catalogs/apply-recipe.js';
import { respondToFrames } from '../workers/isolation/frames.js';

/** A recipe to check. Its defaults can have large schemas. */
export interface RecipeInput {
  recipe: Uint8Array;
  /** The file name in diagnostics. */
  file: string;
}

/**
 * Response of the process: a plan, or the fields of a conflict, because an error loses its class between processes.
 */
export type PlanResult =
  | { checked: CheckedRecipe }
  | { plan: Exclude<PublishPlan, { outcome: 'conflict' }> }
  | { conflict: { message: string; hint?: string } }
  | { failure: unknown };

respondToFrames((input) => serialize(response(deserialize(input) as PublishInput | RecipeInput)));

function response(input: PublishInput | RecipeInput): PlanResult {
  try {
    if ('recipe' in input) return { checked: readRecipe(input.recipe, input.file) };
    const plan = planPublish(input);
    if (plan.outcome !== 'conflict') return { plan };
    const { message, hint } = plan.error;
    return { conflict: { message, ...defined({ hint }) } };
  } catch (failure) {
    return { failure };
  }
}
