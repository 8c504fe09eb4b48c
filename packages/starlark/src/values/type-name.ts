import type { Value } from './value.js';

/** Returns the result of `type(value)`. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
    case 'bigint':
      return 'int';
    case 'boolean':
      return 'bool';
    default:
      return value === null ? 'NoneType' : value.typeName;
  }
}
