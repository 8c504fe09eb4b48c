import type { Value } from './value.js';

/** Reports whether a value counts as true: not None, False, zero or empty. */
export function isTrue(value: Value): boolean {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'number':
      return value !== 0;
    case 'string':
      return value !== '';
    case 'bigint':
      return true;
    default:
      return value?.truth() ?? false;
  }
}
