import type { Field } from '../fields/field.js';
import type { RecipeCode } from './codes.js';

/** A field of a recipe. */
export type RecipeField = Field<RecipeCode>;
