import { hasUnseen } from '@krmhub/catalog';
import type { JsonValue } from '@krmhub/schema';
import { ScimError } from './scim-error.js';

export const isUnset = (value: JsonValue | undefined): value is null | undefined | '' =>
  value === undefined || value === null || value === '';

/** Returns a text that names something: it can be seen, and has at most `max` characters. */
export function readName(value: JsonValue | undefined, attribute: string, max: number): string {
  const text = readText(value, attribute, max);
  if (text.trim() === '' || hasUnseen(text)) {
    throw new ScimError('invalidValue', `${attribute} is empty, or has control or invisible characters`);
  }
  return text;
}

export function readText(value: JsonValue | undefined, attribute: string, max: number): string {
  if (typeof value !== 'string') throw new ScimError('invalidValue', `${attribute} is not a text`);
  if (value.length <= max) return value;
  throw new ScimError('invalidValue', `${attribute} has more than ${max} characters`);
}

/** Microsoft Entra ID sends `"True"` and `"False"`. */
export function readBoolean(value: JsonValue | undefined, attribute: string): boolean {
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw new ScimError('invalidValue', `${attribute} is not true or false`);
}
