/** Parts of the JSON Schemas of documents, each with a description: lint shows it as a hint. */

import type { JsonObject } from '@krmhub/yaml/json-value';
import { defined } from '../defined.js';

export const text = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'string',
  minLength: 1,
  description,
  ...more,
});
export const flag = (description: string): JsonObject => ({ type: 'boolean', description });
export const texts = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'array',
  items: { type: 'string', minLength: 1 },
  description,
  ...more,
});
/** Returns the schema of a closed object with these required properties. */
export const object = (description: string, required: string[], properties: JsonObject): JsonObject => ({
  type: 'object',
  description,
  ...defined({ required: required.length === 0 ? undefined : required }),
  properties,
  additionalProperties: false,
});
