import type { YamlScalar } from './tree.js';

/**
 * What a scalar is to readers in Go (go-yaml 3). `special`: readers could differ, for example about `0o17` or a date.
 */
export type ScalarMeaning =
  | { type: 'null' }
  | { type: 'boolean'; value: boolean }
  | { type: 'number'; value: number }
  | { type: 'text'; value: string }
  | { type: 'special'; value: string };

const NULL = /^(?:|~|null|Null|NULL)$/;
const BOOLEAN = /^(?:true|True|TRUE|false|False|FALSE)$/;
/** Numbers that are written in one way only, but for zeros and exponents. */
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** What may be a number, a date or a merge key: other bases, underscores, `.inf`, `<<`. */
const SPECIAL = /^(?:[-+]?[0-9.][0-9a-fx_o.]*(?:e[-+]?[0-9_]+)?|[-+]?\.(?:inf|nan)|\d{4}-\d.*|<<|=)$/i;
/** Digits that every number keeps as a double. */
const MAX_DIGITS = 15;

export function readMeaning({ value, plain, tag }: YamlScalar): ScalarMeaning {
  if (tag !== undefined) return { type: 'special', value: `${tag} ${plain} ${value}` };
  if (!plain) return { type: 'text', value };
  if (NULL.test(value)) return { type: 'null' };
  if (BOOLEAN.test(value)) return { type: 'boolean', value: value.toLowerCase() === 'true' };
  if (DECIMAL.test(value) && value.replace(/[eE].*|\D/g, '').length <= MAX_DIGITS) {
    return { type: 'number', value: Number(value) };
  }
  return { type: SPECIAL.test(value) ? 'special' : 'text', value };
}
