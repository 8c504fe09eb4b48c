import type { FieldReader } from '../policy/document-fields.js';
import type { RECIPE_CODES } from './codes.js';

export type RecipeFields = FieldReader<'recipe', typeof RECIPE_CODES>;
