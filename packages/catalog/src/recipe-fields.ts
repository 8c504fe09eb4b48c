import type { FieldReader } from './document-fields.js';
import type { RECIPE_CODES } from './recipe-codes.js';

export type RecipeFields = FieldReader<'recipe', typeof RECIPE_CODES>;
